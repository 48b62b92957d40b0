package slurm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// captured returns an environment of the folder testdata, changed by further variables;
// one that is empty is not set. The files are what tasks found under Slurm 22.05.
func captured(t *testing.T, name string, changes ...string) func(string) (string, bool) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name+".env"))
	if err != nil {
		t.Fatal(err)
	}
	environment := map[string]string{}
	for _, line := range append(strings.Split(strings.TrimSpace(string(text)), "\n"), changes...) {
		name, value, _ := strings.Cut(line, "=")
		environment[name] = value
	}
	return func(name string) (string, bool) {
		value := environment[name]
		return value, value != ""
	}
}

func TestRead(t *testing.T) {
	both := []string{"n1", "n2"}
	for name, want := range map[string]*Step{
		"one_per_node":     {Job: 3, Hosts: both, TasksPerNode: []int{1, 1}, Node: 1, Task: 1},
		"uneven_3":         {Job: 1, Hosts: both, TasksPerNode: []int{4, 1}, Task: 3, LocalTask: 3},
		"uneven_4":         {Job: 1, Hosts: both, TasksPerNode: []int{4, 1}, Node: 1, Task: 4},
		"cyclic":           {Job: 1, ID: 1, Hosts: both, TasksPerNode: []int{2, 1}, Node: 1, Task: 1},
		"one_of_two_nodes": {Job: 1, ID: 2, Hosts: []string{"n2"}, TasksPerNode: []int{1}},
		"arbitrary":        {Job: 1, ID: 3, Hosts: both, TasksPerNode: []int{1, 2}, Node: 1, Arbitrary: true},
		"requeued":         {Job: 1, Hosts: both, TasksPerNode: []int{1, 1}, Node: 1, Task: 1},
		"batch_script":     nil,
		"salloc":           nil,
		"interactive":      nil,
		"terminal":         nil,
	} {
		got, err := Read(captured(t, name))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
	// Slurm's own steps are told by their numbers, terminal or not.
	for _, id := range []string{"4294967280", "4294967290", "4294967295"} {
		lookup := captured(t, "interactive", "SLURM_PTY_PORT=", "SLURM_STEP_ID="+id)
		if got, err := Read(lookup); got != nil || err != nil || NodesOutside(lookup) != 2 {
			t.Errorf("step %s: %+v, %v, %d nodes", id, got, err, NodesOutside(lookup))
		}
	}
	if got, err := Read(func(string) (string, bool) { return "", false }); got != nil || err != nil {
		t.Errorf("without Slurm: %+v, %v", got, err)
	}
}

// What is missing or does not fit together is named, with what to do.
func TestReadSaysWhatIsWrong(t *testing.T) {
	for _, c := range []struct{ change, want string }{
		{"SLURM_JOB_ID=", "SLURM_JOB_ID is not set, though SLURM_STEP_ID is"},
		{"SLURM_STEP_ID=x", `SLURM_STEP_ID: "x" is not a whole number`},
		{"SLURM_NODEID=", "SLURM_NODEID is not set"},
		{"SLURM_PROCID=-1", `SLURM_PROCID: "-1" is not a whole number`},
		{"SLURM_PROCID=5", "SLURM_PROCID is 5 and SLURM_STEP_NUM_TASKS is 5"},
		{"SLURM_LOCALID=", "SLURM_LOCALID is not set"},
		{"SLURM_LOCALID=4", "SLURM_LOCALID is 4 and the number of this node's tasks in SLURM_STEP_TASKS_PER_NODE is 4"},
		{"SLURM_NODEID=2", "SLURM_NODEID is 2 and SLURM_STEP_NUM_NODES is 2"},
		{"SLURM_STEP_NODELIST=n[1-3]", "the number of hosts in SLURM_STEP_NODELIST is 3 and SLURM_STEP_NUM_NODES is 2"},
		{"SLURM_STEP_NODELIST=n[1-", `SLURM_STEP_NODELIST: "n[1-" is not a list of hosts: a bracket is not closed`},
		{"SLURM_STEP_NODELIST=", "SLURM_STEP_NODELIST is not set"},
		{
			"SLURM_STEP_TASKS_PER_NODE=4", "the number of nodes in SLURM_STEP_TASKS_PER_NODE is 1 and SLURM_STEP_NUM_NODES is 2",
		},
		{"SLURM_STEP_TASKS_PER_NODE=4,2", "the sum of SLURM_STEP_TASKS_PER_NODE is 6 and SLURM_STEP_NUM_TASKS is 5"},
		{"SLURM_STEP_TASKS_PER_NODE=4(x", `SLURM_STEP_TASKS_PER_NODE: "4(x" is not a list`},
		{"SLURM_STEP_NUM_TASKS=", "SLURM_STEP_NUM_TASKS is not set"},
		{"SLURM_STEP_NUM_NODES=two", `SLURM_STEP_NUM_NODES: "two" is not`},
	} {
		step, err := Read(captured(t, "uneven_3", c.change))
		if err == nil || !strings.Contains(err.Error(), c.want) ||
			!strings.Contains(err.Error(), "--nnodes 1 runs on this machine alone") {
			t.Errorf("%s: %+v, %v\nwant %s", c.change, step, err, c.want)
		}
	}
}

func TestNodesOutside(t *testing.T) {
	for name, want := range map[string]int{
		"batch_script": 2, "salloc": 2, "interactive": 2, "terminal": 1, "one_of_two_nodes": 0, "uneven_4": 0,
	} {
		if got := NodesOutside(captured(t, name)); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
	if got := NodesOutside(captured(t, "salloc", "SLURM_JOB_NUM_NODES=many")); got != 0 {
		t.Errorf("of nonsense: %d", got)
	}
}

func TestStep(t *testing.T) {
	shared := Step{Job: 17, ID: 3, Hosts: []string{"a", "b", "c"}, TasksPerNode: []int{4, 4, 3}, Node: 2}
	if shared.Nodes() != 3 || shared.Tasks() != 11 || shared.LocalTasks() != 3 || !shared.Shared() ||
		shared.Name() != "slurm-17.3" {
		t.Errorf("%+v", shared)
	}
	if alone := (&Step{Hosts: []string{"a", "b"}, TasksPerNode: []int{1, 1}}); alone.Shared() {
		t.Error("one task per node does not share it")
	}
}

// Steps of one job, and those of jobs after each other, do not take each other's ports.
func TestPorts(t *testing.T) {
	for _, job := range []int{0, 1, 4242, 1<<26 - 1, 1 << 31} {
		seen := map[int]string{}
		for offset := range 20 {
			for id := range 20 {
				s := Step{Job: job + offset, ID: id}
				port := s.Port()
				if port < firstPort || port+1 >= firstPort+2*pairs || port%2 != 0 {
					t.Fatalf("%s has port %d", s.Name(), port)
				}
				if other := seen[port]; other != "" {
					t.Errorf("%s and %s have port %d", s.Name(), other, port)
				}
				seen[port] = s.Name()
			}
		}
	}
}
