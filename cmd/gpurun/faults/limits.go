package faults

import (
	"fmt"
	"strconv"
	"strings"
)

// limitFaults are limits of processes, from the start of gpurun or under a job that runs.
func limitFaults() []Fault {
	return []Fault{
		{
			Name: "pids limit", Does: "The cgroup of the job allows too few threads (`pids.max`).",
			Job: pidsJob, Missing: missingCgroup("pids"),
		},
		{
			Name: "fd limit", Does: "The limit of open files is too low (`ulimit -n`).",
			Job: filesJob,
		},
	}
}

// shortJob measures something short on many ranks, which need more than a guard and an agent.
func shortJob(ranks int) Job {
	args := strings.Fields("--device sim --log-level debug --grace 1 allreduce -e 64K -n 3 -T 3")
	return Job{Nodes: [][]string{append([]string{"--nproc-per-node", strconv.Itoa(ranks)}, args...)}}
}

// Limits that are enough for a guard, or for guard and agent, and for no more.
var (
	mostThreads = map[Victim]int{Guard: 10, Worker: 40}
	mostFiles   = map[Victim]int{Guard: 20, Agent: 40, Worker: 40}
)

// pidsJob runs in a control group with a limit of threads.
func pidsJob(c Cell) Job {
	job := shortJob(8)
	group, err := newCgroup("pids", strconv.Itoa(mostThreads[c.Victim]))
	job.Shell = fmt.Sprintf("echo $$ >%s/cgroup.procs", group)
	if err != nil {
		job.Shell = fmt.Sprintf("echo %q >&2; exit 1", err)
	}
	job.Before = func(s *Scene) error {
		s.ends = append(s.ends, group.remove)
		return nil
	}
	return job
}

// filesJob runs with a limit of open files.
func filesJob(c Cell) Job {
	job := shortJob(8)
	job.Shell = fmt.Sprintf("ulimit -n %d", mostFiles[c.Victim])
	return job
}
