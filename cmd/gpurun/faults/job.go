package faults

import (
	"fmt"
	"strconv"
	"time"
)

// Job is what runs in a cell: gpurun on one node or two.
type Job struct {
	// Nodes are the arguments of gpurun, by node.
	Nodes [][]string
	// Shell is run before gpurun in its process, by the victim's node alone: it sets limits and makes mounts.
	Shell string
	// Own starts each node after this command, which executes its arguments, as in "ip netns exec node0"; nil: none.
	Own func(node int) []string
	// Before prepares what the job needs, and has the scene end it; nil: nothing.
	Before func(*Scene) error
	// Ready waits until the job has come to the moment of the cell; nil: it is there at once.
	Ready func(*Scene) error
	// Unread is true when nobody reads standard output.
	Unread bool
	// Env has further variables.
	Env []string
}

const (
	ranks      = 2 // of a job on one node
	rankToHit  = 1 // the worker that is the victim
	rankBeside = 0
)

// jobOf is the job that a victim and a moment need: a collective in the simulator, or a program where ranks end one
// after the other or on several nodes.
func jobOf(c Cell) Job {
	switch {
	case c.Victim == Node0 || c.Victim == OtherNode:
		return nodesJob(c)
	case c.Moment == AtEnd:
		return programJob(c)
	}
	return collectiveJob(c)
}

// waiting is the -T of collectives.
const waiting = 2 // seconds

// collectiveJob lasts longer than any cell. Before the join, the victim's rank is held, so that the other waits for it.
func collectiveJob(c Cell, further ...string) Job {
	args := []string{
		"--device", "sim", "--nproc-per-node", strconv.Itoa(ranks), "--log-level", "debug", "--grace", "1",
		"allreduce", "--algo", "oneshot_lamport", "-b", "64K", "-e", "64K",
		"-n", "20", "-N", "1000000", "-T", strconv.Itoa(waiting),
	}
	ready := (*Scene).collectiveRuns
	if c.Moment == BeforeJoin {
		ready = (*Scene).holdBeforeJoin
	}
	return Job{Nodes: [][]string{append(args, further...)}, Ready: ready}
}

// program is a worker's program: it says that it is up, and does what the test writes to a file for its rank.
const program = `touch $SCENE/up.$RANK
	until test -e $SCENE/do.$RANK; do sleep 0.03; done
	. $SCENE/do.$RANK`

// programJob runs the program on one node. At the end, the other rank has ended.
func programJob(c Cell, further ...string) Job {
	args := []string{
		"--nproc-per-node", strconv.Itoa(ranks), "--log-level", "debug", "--grace", "1", "--signal-grace", "1",
	}
	args = append(append(args, further...), "--", "sh", "-c", program)
	return Job{Nodes: [][]string{args}, Ready: programReady(c.Moment, rankBeside)}
}

// programReady waits for a program's ranks. At the end, one of them has ended.
func programReady(m Moment, ends int) func(*Scene) error {
	return func(s *Scene) error {
		if err := s.awaitFiles("up.0", "up.1"); err != nil || m != AtEnd {
			return err
		}
		if err := s.tell(ends, "exit 0"); err != nil {
			return err
		}
		err := s.awaitAny("debug worker exited")
		time.Sleep(pause) // its node tells the other
		return err
	}
}

// How nodes miss each other, and wait for each other.
const (
	heartbeats  = 3 // seconds without one, after which a node is lost
	joinTimeout = 3 // seconds
)

// nodesJob runs the program on two nodes, one worker each. Before the join, the two wait for a third that does not
// come.
func nodesJob(c Cell) Job { return nodesAt(c, "127.0.0.1:"+portOf(c)) }

func nodesAt(c Cell, endpoint string, further ...string) Job {
	count, ready := 2, programReady(c.Moment, c.Victim.node())
	if c.Moment == BeforeJoin {
		count, ready = 3, (*Scene).nodesJoin
	}
	job := Job{Ready: ready, Env: []string{"GPURUN_RDZV_TOKEN=" + token}}
	for node := range 2 {
		args := []string{
			"--nnodes", strconv.Itoa(count), "--node-rank", strconv.Itoa(node), "--rdzv-id", "faults",
			"--rdzv-backend", "static", "--rdzv-endpoint", endpoint, "--join-timeout", strconv.Itoa(joinTimeout),
			"--rdzv-conf", fmt.Sprintf("keep_alive_interval=1,keep_alive_max_attempt=%d", heartbeats),
			"--log-level", "debug", "--grace", "1", "--signal-grace", "1",
		}
		job.Nodes = append(job.Nodes, append(append(args, further...), "--", "sh", "-c", program))
	}
	return job
}

const token = "0123456789abcdef0123"

// portOf gives each cell a port of its own, below those that the kernel chooses.
func portOf(c Cell) string {
	const first, each = 20000, 2
	for i, other := range Cells() {
		if other == c {
			return strconv.Itoa(first + each*i)
		}
	}
	return strconv.Itoa(first - each)
}
