package faults

import (
	"fmt"
	"slices"
)

// programFaults are what a worker does by itself: its program ends badly, takes all memory, or does not come.
func programFaults() []Fault {
	return []Fault{
		{
			Name: "exit", Does: "The program of a worker exits with code 7.",
			Job: launchedJob, Strike: func(s *Scene) error { return s.tell(s.rank(), "exit 7") },
		},
		{
			Name: "OOM kill", Does: "A worker fills the memory of its cgroup, and the kernel kills it.",
			Job: launchedJob, Strike: strikeMemory, Alone: true, Missing: missingCgroup("memory"),
		},
		{Name: "hang before join", Does: "A worker or a node never joins the rendezvous.", Job: hangBeforeJoinJob},
		{Name: "hang in kernel", Does: "The kernel of a rank never ends (`--inject hang`).", Job: func(c Cell) Job {
			return Job{Nodes: collectiveJob(c, "--inject", fmt.Sprintf("hang:rank=%d", rankToHit)).Nodes}
		}},
	}
}

// launchedJob is a job whose worker does what a line says.
func launchedJob(c Cell) Job {
	if slices.Contains(nodes(), c.Victim) {
		job := nodesJob(c)
		if c.Moment == AtEnd {
			job.Ready = programReady(c.Moment, 1-c.Victim.node())
		}
		return job
	}
	job := programJob(c)
	if c.Moment == BeforeJoin {
		job.Ready = func(s *Scene) error { return s.awaitFiles(fmt.Sprintf("up.%d", rankToHit)) }
	}
	return job
}

// rank is the rank whose program is the victim, or runs on it.
func (s *Scene) rank() int {
	if s.Cell.Victim == Worker {
		return rankToHit
	}
	return s.Cell.Victim.node() // one worker each
}

// strikeMemory has the worker take more memory than its control group allows.
func strikeMemory(s *Scene) error {
	group, err := newCgroup("memory", "32M")
	if err != nil {
		return err
	}
	s.ends = append(s.ends, group.remove)
	return s.tell(s.rank(), fmt.Sprintf("echo $$ > %s/cgroup.procs; exec tail /dev/zero", group))
}

// hangBeforeJoinJob has a rank that does not join, or a node that does not come.
func hangBeforeJoinJob(c Cell) Job {
	if c.Victim == Worker {
		return jobOf(c)
	}
	job := nodesAt(Cell{c.Fault, c.Victim, InCollective}, "127.0.0.1:"+portOf(c))
	job.Ready = nil
	job.Own = func(node int) []string {
		if node == c.Victim.node() {
			return []string{"true"}
		}
		return []string{"env"}
	}
	return job
}
