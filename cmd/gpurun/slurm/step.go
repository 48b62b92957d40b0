// Package slurm reads from the environment what Slurm says about the job step
// that a process is a task of: which nodes there are, and which task this is.
//
// The variables are those that Slurm's manual of srun lists under "OUTPUT ENVIRONMENT
// VARIABLES". Those of the step count, not those of the job: a step may have fewer
// nodes than its job.
package slurm

import (
	"fmt"
	"math"
	"strings"
)

// Step is a job step, as one of its tasks sees it.
type Step struct {
	Job, ID int
	Hosts   []string // by node
	// TasksPerNode is the number of tasks of each node.
	TasksPerNode []int
	// Node, Task and LocalTask are this task's node, its rank among all tasks, and
	// among those of its node.
	Node, Task, LocalTask int
	// Arbitrary says that the user has placed the tasks, so that the first need not
	// be on the first node.
	Arbitrary bool
}

// Names of variables that are mentioned to the user.
const (
	NodesVariable = "SLURM_STEP_NUM_NODES"
	HostsVariable = "SLURM_STEP_NODELIST"
	TasksVariable = "SLURM_STEP_NUM_TASKS"
	NodeVariable  = "SLURM_NODEID"
	TaskVariable  = "SLURM_PROCID"
	JobVariable   = "SLURM_JOB_ID"

	stepVariable         = "SLURM_STEP_ID"
	tasksPerNodeVariable = "SLURM_STEP_TASKS_PER_NODE"
	localTaskVariable    = "SLURM_LOCALID"
	distributionVariable = "SLURM_DISTRIBUTION"
	ptyVariable          = "SLURM_PTY_PORT"
	jobNodesVariable     = "SLURM_JOB_NUM_NODES"
)

// firstSpecialStep is the first of the step ids that stand for something else than
// what srun has started: a job's script, its shell, or what Slurm runs beside it.
const firstSpecialStep = math.MaxUint32 - 15

// Read reads the step from the environment. It returns nil where there is none: outside of
// Slurm, in a job's script, and in a shell that srun or salloc has opened on a
// terminal.
func Read(lookup func(name string) (string, bool)) (*Step, error) {
	r := reader{lookup: lookup}
	if !r.inStep() {
		return nil, r.err
	}
	s := &Step{
		ID: r.number(stepVariable), Job: r.number(JobVariable),
		Node: r.number(NodeVariable), Task: r.number(TaskVariable), LocalTask: r.number(localTaskVariable),
		Arbitrary: strings.HasPrefix(r.text(distributionVariable), "arbitrary"),
	}
	s.Hosts = parsed(&r, HostsVariable, Hosts)
	s.TasksPerNode = parsed(&r, tasksPerNodeVariable, parseTasksPerNode)
	nodes, tasks := r.number(NodesVariable), r.number(TasksVariable)
	if r.err != nil {
		return nil, r.err
	}
	return s, s.check(nodes, tasks)
}

// NodesOutside is the number of the job's nodes where a process is in a job, but in
// no step of it, and so on one of its nodes alone; else it is 0.
func NodesOutside(lookup func(name string) (string, bool)) int {
	r := reader{lookup: lookup}
	if r.text(jobNodesVariable) == "" || r.inStep() {
		return 0
	}
	return r.number(jobNodesVariable) // 0 if it is none
}

// check compares the variables with each other.
func (s *Step) check(nodes, tasks int) error {
	sum := 0
	for _, n := range s.TasksPerNode {
		sum += n
	}
	for _, c := range []struct {
		wrong bool
		one   string
		n     int
		other string
		m     int
	}{
		{len(s.Hosts) != nodes, "the number of hosts in " + HostsVariable, len(s.Hosts), NodesVariable, nodes},
		{
			len(s.TasksPerNode) != nodes, "the number of nodes in " + tasksPerNodeVariable, len(s.TasksPerNode), NodesVariable,
			nodes,
		},
		{sum != tasks, "the sum of " + tasksPerNodeVariable, sum, TasksVariable, tasks},
		{s.Node >= nodes, NodeVariable, s.Node, NodesVariable, nodes},
		{s.Task >= tasks, TaskVariable, s.Task, TasksVariable, tasks},
	} {
		if c.wrong {
			return inconsistent(c.one, c.n, c.other, c.m)
		}
	}
	if local := s.LocalTasks(); s.LocalTask >= local {
		return inconsistent(localTaskVariable, s.LocalTask, "the number of this node's tasks in "+tasksPerNodeVariable, local)
	}
	return nil
}

func inconsistent(one string, n int, other string, m int) error {
	return fmt.Errorf("%s is %d and %s is %d, which contradict each other: start gpurun by srun directly, "+
		"in one component of the job, or %s", one, n, other, m, advice)
}

// advice is how to do without Slurm's variables.
const advice = "set --nnodes, --node-rank and --master-addr; --nnodes 1 runs on this machine alone"

// Nodes is the number of nodes, and Tasks that of tasks on all of them.
func (s *Step) Nodes() int { return len(s.Hosts) }

// Tasks is the number of tasks on all nodes.
func (s *Step) Tasks() int {
	sum := 0
	for _, n := range s.TasksPerNode {
		sum += n
	}
	return sum
}

// LocalTasks is the number of tasks on this task's node.
func (s *Step) LocalTasks() int { return s.TasksPerNode[s.Node] }

// Shared reports whether a node has several tasks.
func (s *Step) Shared() bool { return s.Tasks() > s.Nodes() }

// Name identifies the step. It stays the same when Slurm restarts the job, so that a program finds the files that it
// has saved under this name.
func (s *Step) Name() string { return fmt.Sprintf("slurm-%d.%d", s.Job, s.ID) }

// Ports of steps are below the ephemeral ports of Linux.
const (
	firstPort = 16384
	pairs     = 8192
)

// Port is the first of two that the step may use on any node. Steps that run at the same
// time most likely have different ones.
func (s *Step) Port() int { return firstPort + 2*((31*(s.Job%pairs)+s.ID)%pairs) }
