package node

import (
	"fmt"
	"net"
	"os"
	"slices"
	"strconv"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/slurm"
	"gpurun/cmd/gpurun/torchrun"
	"gpurun/worker/process/torchenv"
)

// ApplySlurmStep takes settings that are not set from the Slurm step of this process, and returns the step. It does
// nothing, and returns nil, if there is no step, if the step has one task, or if the user has set how the nodes meet.
// remark says that the job has more nodes than this one, or is empty. line is the command line of a launched program;
// it may be nil.
func ApplySlurmStep(s *settings.Sources, line *torchrun.Line) (step *slurm.Step, remark string, err error) {
	given := givenIn(s, line)
	if meetsBy(given) {
		return nil, "", nil
	}
	step, err = slurm.Read(os.LookupEnv)
	switch {
	case err != nil:
		return nil, "", &exit.UsageError{Err: err}
	case step == nil:
		return nil, outsideStepRemark(), nil
	case step.Tasks() == 1:
		return nil, "", nil
	}
	values := fallbacksOf(step, given)
	if err := checkGiven(step, values, given); err != nil {
		return nil, "", err
	}
	s.FallBack(values)
	return step, "", nil
}

// RequireOneTask returns an error if a Slurm step has several tasks on this machine, all of which would run a command
// for one machine at the same time, unless the user has set --nnodes 1. why is the reason for one machine.
func RequireOneTask(s *settings.Sources, why string) error {
	if meetsBy(s.Given) {
		return nil
	}
	step, err := slurm.Read(os.LookupEnv)
	switch {
	case err != nil:
		return &exit.UsageError{Err: err}
	case step == nil || step.LocalTasks() == 1:
		return nil
	}
	return exit.Usagef("srun has started gpurun %d times on this node, and %s: start one "+
		"per node with srun --ntasks-per-node=1; with --nnodes 1 each of them runs by itself", step.LocalTasks(), why)
}

// givenIn finds what the user gave for a flag, on a line for commands or elsewhere. Without
// such a line, flags are those of the sources.
func givenIn(s *settings.Sources, line *torchrun.Line) func(flag string) string {
	if line == nil {
		return s.Given
	}
	return func(flag string) string {
		for _, set := range slices.Backward(line.Settings) {
			if set.Flag.Name == flag {
				return set.Value
			}
		}
		text, _ := s.Lookup(flag)
		return text
	}
}

// meetsBy reports whether the user has said how the nodes meet, or that there is but
// one.
func meetsBy(given func(flag string) string) bool {
	alone, _ := strconv.ParseBool(given("standalone")) // the reader of the flag reports an invalid value
	nodes := given("nnodes")
	return alone || nodes == "1" || nodes == "1:1" || nodes != "" &&
		(given("node-rank") != "" || given("rdzv-endpoint") != "")
}

// fallbacksOf are what a step settles. To gpurun, every process that srun starts is a node.
func fallbacksOf(step *slurm.Step, given func(flag string) string) map[string]settings.Fallback {
	all := map[string]settings.Fallback{
		"nnodes":      {Text: strconv.Itoa(step.Nodes()), Source: slurm.NodesVariable},
		"node-rank":   {Text: strconv.Itoa(step.Node), Source: slurm.NodeVariable},
		"master-addr": {Text: step.Hosts[0], Source: slurm.HostsVariable},
		"master-port": {Text: strconv.Itoa(step.Port()), Source: slurm.JobVariable},
		"rdzv-id":     {Text: step.Name(), Source: slurm.JobVariable},
	}
	if step.Shared() {
		all["nnodes"] = settings.Fallback{Text: strconv.Itoa(step.Tasks()), Source: slurm.TasksVariable}
		all["node-rank"] = settings.Fallback{Text: strconv.Itoa(step.Task), Source: slurm.TaskVariable}
		all["nproc-per-node"] = settings.Fallback{Text: "1", Source: slurm.TasksVariable}
	}
	if step.Nodes() == 1 {
		// Other machines cannot reach this address.
		all["master-addr"] = settings.Fallback{Text: "127.0.0.1", Source: slurm.HostsVariable}
	}
	if given("rdzv-backend") == "c10d" {
		endpoint := net.JoinHostPort(all["master-addr"].Text, all["master-port"].Text)
		all["rdzv-endpoint"] = settings.Fallback{Text: endpoint, Source: slurm.HostsVariable}
	}
	return all
}

// checkGiven returns an error if a setting of the user contradicts the step.
func checkGiven(step *slurm.Step, all map[string]settings.Fallback, given func(flag string) string) error {
	nodes, processes := given("nnodes"), given("nproc-per-node")
	count := all["nnodes"].Text
	numbered := all["rdzv-endpoint"].Text == "" // else they meet in any number and order
	switch {
	case numbered && nodes != "" && nodes != count && nodes != count+":"+count:
		return exit.Usagef("--nnodes is %s, and srun has started gpurun %s times (%s): "+
			"omit --nnodes, or set --node-rank or --rdzv-endpoint", nodes, count, all["nnodes"].Source)
	case !step.Shared():
		return nil
	case processes != "" && processes != "1":
		return exit.Usagef("--nproc-per-node is %s, and srun has started gpurun %d times on this node, "+
			"each for one process: omit --nproc-per-node, or start one gpurun per node with srun --ntasks-per-node=1", processes,
			step.LocalTasks())
	case numbered && step.Arbitrary && given("master-addr") == "" && given("rdzv-endpoint") == "":
		return exit.Usagef("SLURM_DISTRIBUTION is arbitrary, so that the node of the first task is not known: " +
			"set --master-addr to the address of that node")
	}
	return nil
}

// TaskOf is the place of a process that srun has started for itself alone; nil for one
// that is to start all of its node, and without a step.
func TaskOf(step *slurm.Step) *torchenv.Task {
	if step == nil || !step.Shared() {
		return nil
	}
	return &torchenv.Task{
		LocalRank: step.LocalTask, LocalWorldSize: step.LocalTasks(),
		Node: step.Node, Nodes: step.Nodes(),
	}
}

// outsideStepRemark says that a job has more nodes than this one, or returns "".
func outsideStepRemark() string {
	nodes := slurm.NodesOutside(os.LookupEnv)
	if nodes <= 1 {
		return ""
	}
	return fmt.Sprintf("the Slurm job has %d nodes, but srun did not start gpurun, which runs on this node only; "+
		"srun --ntasks-per-node=1 starts it on all nodes", nodes)
}
