package settings

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/slurm"
	"gpurun/cmd/gpurun/torchrun"
	"gpurun/worker/agent"
)

// fallback is the value of a setting that nobody gave, and the variable of Slurm's
// that it was made of.
type fallback struct{ text, source string }

// TakeStep lets settings that nobody gave, on a line for commands or elsewhere, be those of
// the Slurm step that this process is a task of, if there is one, and the user has not
// said how the nodes meet. remark says that the job has more nodes than this one, or is
// empty. line may be nil.
func (s *Sources) TakeStep(line *torchrun.Line) (remark string, err error) {
	given := s.givenIn(line)
	if meetsBy(given) {
		return "", nil
	}
	step, err := slurm.Read(os.LookupEnv)
	if err != nil {
		return "", &exit.UsageError{Err: err}
	}
	switch {
	case step == nil:
		return forgotten(), nil
	case step.Tasks() == 1:
		return "", nil
	}
	fallbacks, err := fallbacksOf(step, given)
	if err != nil {
		return "", err
	}
	s.slurmStep, s.fallbacks = step, fallbacks
	for key, f := range s.fallbacks {
		if slices.Contains(s.v.AllKeys(), key) {
			s.v.SetDefault(key, f.text)
		}
	}
	return "", nil
}

// meetsBy reports whether the user has said how the nodes meet, or that there is but
// one.
func meetsBy(given func(flag string) string) bool {
	alone, _ := strconv.ParseBool(given("standalone")) // who reads the flag complains of nonsense
	nodes := given("nnodes")
	return alone || nodes == "1" || nodes == "1:1" || nodes != "" && (given("node-rank") != "" || given("rdzv-endpoint") != "")
}

// fallbacksOf are what a step settles. To gpurun, every process that srun starts is a node.
func fallbacksOf(step *slurm.Step, given func(flag string) string) (map[string]fallback, error) {
	all := map[string]fallback{
		"nnodes":      {strconv.Itoa(step.Nodes()), slurm.NodesVariable},
		"node-rank":   {strconv.Itoa(step.Node), slurm.NodeVariable},
		"master-addr": {step.Hosts[0], slurm.HostsVariable},
		"master-port": {strconv.Itoa(step.Port()), slurm.JobVariable},
		"rdzv-id":     {step.Name(), slurm.JobVariable},
	}
	if step.Shared() {
		all["nnodes"] = fallback{strconv.Itoa(step.Tasks()), slurm.TasksVariable}
		all["node-rank"] = fallback{strconv.Itoa(step.Task), slurm.TaskVariable}
		all["nproc-per-node"] = fallback{"1", slurm.TasksVariable}
	}
	if step.Nodes() == 1 {
		all["master-addr"] = fallback{"127.0.0.1", slurm.HostsVariable} // strangers do not reach it
	}
	if given("rdzv-backend") == "c10d" {
		endpoint := net.JoinHostPort(all["master-addr"].text, all["master-port"].text)
		all["rdzv-endpoint"] = fallback{endpoint, slurm.HostsVariable}
	}
	return all, checkGiven(step, all, given)
}

// checkGiven refuses what the user gave and does not fit the step.
func checkGiven(step *slurm.Step, all map[string]fallback, given func(flag string) string) error {
	nodes, processes := given("nnodes"), given("nproc-per-node")
	count := all["nnodes"].text
	numbered := all["rdzv-endpoint"].text == "" // else they meet in any number and order
	switch {
	case numbered && nodes != "" && nodes != count && nodes != count+":"+count:
		return exit.Usagef("--nnodes is %s, and srun has started gpurun %s times (%s): leave --nnodes out, or say by --node-rank or --rdzv-endpoint how they meet",
			nodes, count, all["nnodes"].source)
	case !step.Shared():
		return nil
	case processes != "" && processes != "1":
		return exit.Usagef("--nproc-per-node is %s, and srun has started gpurun %d times on this node, each for one process: leave --nproc-per-node out, or "+
			"start one gpurun per node by srun --ntasks-per-node=1", processes, step.LocalTasks())
	case numbered && step.Arbitrary && given("master-addr") == "" && given("rdzv-endpoint") == "":
		return exit.Usagef("SLURM_DISTRIBUTION is arbitrary, which does not say where the first task runs: give its node as --master-addr")
	}
	return nil
}

// Task is the place of a process that srun has started for itself alone; nil for one
// that is to start all of its node.
func (s *Sources) Task() *agent.Task {
	if s.slurmStep == nil || !s.slurmStep.Shared() {
		return nil
	}
	return &agent.Task{
		LocalRank: s.slurmStep.LocalTask, LocalWorldSize: s.slurmStep.LocalTasks(),
		Node: s.slurmStep.Node, Nodes: s.slurmStep.Nodes(),
	}
}

// forgotten says that a job has more nodes than this one, or returns "".
func forgotten() string {
	nodes := slurm.NodesOutside(os.LookupEnv)
	if nodes <= 1 {
		return ""
	}
	return fmt.Sprintf("this job of Slurm's has %d nodes, and gpurun was not started by srun: it runs on this one alone; srun --ntasks-per-node=1 starts it on all", nodes)
}
