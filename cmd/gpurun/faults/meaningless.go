package faults

import "slices"

// blank is why cells mean nothing.
type blank struct {
	fault   string
	victims []Victim
	moments []Moment
	reason  string
}

// noWire is why processes of one node have no wire.
const noWire = "a socket pair and abstract Unix sockets are no wire: nothing lies between their ends"

// meaningless has every cell that is not in expected.
func meaningless() []blank {
	own, processes := []Victim{Guard, Agent}, []Victim{Worker, Guard, Agent}
	return []blank{
		{"exit", own, all, "guard and agent end only with the job"},
		{"exit", nodes(), before, "a node has no worker before the nodes have met"},
		{"OOM kill", own, all, "the kernel's SIGKILL is that of kill -9, and no limit makes it choose this process"},
		{"OOM kill", nodes(), before, "a node has no worker before the nodes have met"},
		{"hang before join", own, all, "guard and agent join nothing on one node"},
		{"hang before join", []Victim{Worker, Node0, OtherNode}, late, "the fault is before the join"},
		{"hang in kernel", own, all, "guard and agent run no kernel"},
		{"hang in kernel", nodes(), all, "collectives across nodes need NCCL, and so GPUs"},
		{"hang in kernel", worker, []Moment{BeforeJoin, AtEnd}, "kernels run in the collective"},
		{"corrupt byte", own, all, noWire},
		{"corrupt byte", worker, []Moment{BeforeJoin, AtEnd}, "a result is there in the collective"},
		{"truncated message", processes, all, noWire},
		{"stranger", []Victim{Worker, Guard, OtherNode}, all, "it serves nobody whom a stranger could call"},
		{"stranger", agent, ending, "the agent of a program on one node serves PyTorch's store alone, which has no token"},
		{"slow reader", []Victim{Worker, Guard}, all, "the agent reads the workers, and writes standard output"},
		{"slow reader", nodes(), all, "each node's agent writes its own standard output: the row of the agent"},
		{"slow reader", agent, before, "nothing is written before the join"},
		{"closed stdout", []Victim{Worker, Guard}, all, "the agent reads the workers, and writes standard output"},
		{"closed stdout", nodes(), all, "each node's agent writes its own standard output: the row of the agent"},
		{"full disk", guard, all, "the guard writes no file but the stacks of a crash"},
		{"full disk", nodes(), all, "each node's agent writes its own files: the row of the agent"},
		{"full disk", worker, []Moment{BeforeJoin, AtEnd}, "a worker writes files while its program runs"},
		{"full /dev/shm", own, all, "guard and agent use no shared memory"},
		{"full /dev/shm", nodes(), all, "each node has a /dev/shm of its own: the row of the worker"},
		{"full /dev/shm", worker, []Moment{BeforeJoin, AtEnd}, "it is full from the start to the end"},
		{"pids limit", agent, all, "it shares the guard's limit, which the guard checks for both"},
		{"pids limit", nodes(), all, "each node has its own limits: the rows of guard and worker"},
		{"pids limit", []Victim{Worker, Guard}, late, "what a job needs it has when its ranks have joined"},
		{"fd limit", worker, all, "a worker needs fewer files than its agent"},
		{"fd limit", nodes(), all, "each node has its own limits: the rows of guard and agent"},
		{"fd limit", own, late, "what a job needs it has when its ranks have joined"},
		{"partition", processes, all, "they are on one node"},
		{"etcd lost and back", processes, all, "a job on one node needs no etcd"},
		{"etcd lost and back", other, all, "both nodes lose the same etcd: the row of node 0"},
		{"clock jump", []Victim{Worker, Guard}, all, "they share the clock of their node: the row of the agent"},
		{"clock jump", other, all, "the nodes of the test share a clock: the row of node 0"},
	}
}

// Meaningless returns why a cell means nothing; "": it means something.
func Meaningless(c Cell) string {
	for _, b := range meaningless() {
		if b.fault == c.Fault && slices.Contains(b.victims, c.Victim) && slices.Contains(b.moments, c.Moment) {
			return b.reason
		}
	}
	return ""
}
