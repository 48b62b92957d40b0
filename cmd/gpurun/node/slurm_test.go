package node

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags/flagtest"
	"gpurun/cmd/gpurun/settings"
	"gpurun/worker/process/torchenv"
)

// taskOf sets what srun tells the second task of the second of two nodes.
func taskOf(t *testing.T, perNode string) {
	t.Helper()
	tasks, task, local := "2", "1", "0"
	if perNode == "2(x2)" {
		tasks, task, local = "4", "3", "1"
	}
	for name, value := range map[string]string{
		"SLURM_STEP_ID": "0", "SLURM_JOB_ID": "7", "SLURM_STEP_NUM_NODES": "2", "SLURM_STEP_NODELIST": "n[1-2]",
		"SLURM_NODEID":              "1",
		"SLURM_STEP_TASKS_PER_NODE": perNode, "SLURM_STEP_NUM_TASKS": tasks, "SLURM_PROCID": task, "SLURM_LOCALID": local,
	} {
		t.Setenv(name, value)
	}
}

// What the user leaves out is what srun says; what is said wins.
func TestStepSettlesThePlacement(t *testing.T) {
	t.Setenv(TokenVariable, "0123456789abcdef")
	shared := &torchenv.Task{LocalRank: 1, LocalWorldSize: 2, Node: 1, Nodes: 2}
	for _, c := range []struct {
		perNode, line string
		want          Node
		processes     int
	}{
		{"1(x2)", "", Node{Count: 2, Rank: 1, Addr: "n1"}, 0},
		{"1(x2)", "--master-addr here", Node{Count: 2, Rank: 1, Addr: "here"}, 0},
		{"1(x2)", "--nnodes 1", Node{Count: 1}, 0},
		{"2(x2)", "", Node{Count: 4, Rank: 3, Addr: "n1", Task: shared}, 1},
		{"2(x2)", "--nnodes 3 --node-rank 1 --master-addr here", Node{Count: 3, Rank: 1, Addr: "here"}, 0},
	} {
		taskOf(t, c.perNode)
		s, err := settings.Load(flagtest.Collective(t, "allreduce", strings.Fields(c.line)...))
		if err != nil {
			t.Fatal(err)
		}
		step, remark, err := ApplySlurmStep(s, nil)
		if err != nil || remark != "" {
			t.Errorf("%+v: %q, %v", c, remark, err)
		}
		config, err := settings.Read(s)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Read(s, config, step)
		if err != nil {
			t.Errorf("%+v: %v", c, err)
		}
		got = Node{Count: got.Count, Rank: got.Rank, Addr: got.Addr, Task: got.Task}
		if c.want.Addr == "" {
			got.Addr = "" // nobody is to be reached
		}
		if diff := cmp.Diff(c.want, got); diff != "" || config.NProcPerNode.Number != c.processes {
			t.Errorf("%+v: %+v processes, %s", c, config.NProcPerNode, diff)
		}
	}
}

// What does not fit the step is refused, and blamed on what srun says.
func TestWhatDoesNotFitTheStep(t *testing.T) {
	for _, c := range []struct{ perNode, line, says string }{
		{"1(x2)", "--nnodes 3", "srun has started gpurun 2 times (SLURM_STEP_NUM_NODES)"},
		{"2(x2)", "--nnodes 2", "srun has started gpurun 4 times (SLURM_STEP_NUM_TASKS)"},
		{"2(x2)", "--nproc-per-node 2", "srun --ntasks-per-node=1"},
		{"3(x2)", "", "which contradict each other"},
	} {
		taskOf(t, c.perNode)
		s, err := settings.Load(flagtest.Collective(t, "allreduce", strings.Fields(c.line)...))
		if err != nil {
			t.Fatal(err)
		}
		if step, _, err := ApplySlurmStep(s, nil); step != nil || exit.Code(err) != exit.Usage ||
			!strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %v", c, err)
		}
		if s.Source("node-rank") != "" {
			t.Errorf("%+v: node-rank is by %s", c, s.Source("node-rank"))
		}
	}
}

// What is about one machine is refused to several tasks on it.
func TestCheckAlone(t *testing.T) {
	const why = "this is about one machine"
	for _, c := range []struct{ perNode, line, says string }{
		{"1(x2)", "", ""},
		{"2(x2)", "", "srun has started gpurun 2 times on this node, and " + why},
		{"2(x2)", "--nnodes 1", ""},
		{"3(x2)", "", "which contradict each other"},
	} {
		taskOf(t, c.perNode)
		s, err := settings.Load(flagtest.Collective(t, "allreduce", strings.Fields(c.line)...))
		if err != nil {
			t.Fatal(err)
		}
		switch err := RequireOneTask(s, why); {
		case c.says == "" && err != nil:
			t.Errorf("%+v: %v", c, err)
		case c.says != "" && (exit.Code(err) != exit.Usage || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%+v: %v", c, err)
		}
	}
}
