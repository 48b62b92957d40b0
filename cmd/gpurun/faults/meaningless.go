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
const noWire = "processes of a node talk through Unix sockets, whose messages nothing can change"

// meaningless has every cell that is not in expected.
func meaningless() []blank {
	own, processes := []Victim{Guard, Agent}, []Victim{Worker, Guard, Agent}
	return []blank{
		{"exit", own, all, "guard and agent never exit by themselves before the job ends"},
		{"exit", nodes(), before, "a node starts its worker after all nodes have joined"},
		{"OOM kill", own, all, "the kernel chooses which process to kill; if it kills this one, the case is that of kill -9"},
		{"OOM kill", nodes(), before, "a node starts its worker after all nodes have joined"},
		{"hang before join", own, all, "on one node, guard and agent do not join a rendezvous"},
		{"hang before join", []Victim{Worker, Node0, OtherNode}, late, "the fault precedes the join"},
		{"hang in kernel", own, all, "guard and agent run no kernel"},
		{"hang in kernel", nodes(), all, "collectives across nodes need NCCL and GPUs, which the test lacks"},
		{"hang in kernel", worker, []Moment{BeforeJoin, AtEnd}, "kernels run in the collective"},
		{"corrupt byte", own, all, noWire},
		{"corrupt byte", worker, []Moment{BeforeJoin, AtEnd}, "results exist only in the collective"},
		{"truncated message", processes, all, noWire},
		{"wrong token", []Victim{Worker, Guard, OtherNode}, all, "the victim serves no calls"},
		{"wrong token", agent, ending, "of a program on one node, the agent serves only a store without a token"},
		{"slow reader", []Victim{Worker, Guard}, all, "only the agent writes to standard output"},
		{"slow reader", nodes(), all, "each agent writes the standard output of its node: see agent"},
		{"slow reader", agent, before, "gpurun writes nothing to standard output before the join"},
		{"closed stdout", []Victim{Worker, Guard}, all, "only the agent writes to standard output"},
		{"closed stdout", nodes(), all, "each agent writes the standard output of its node: see agent"},
		{"full disk", guard, all, "the guard writes a file only when gpurun crashes"},
		{"full disk", nodes(), all, "each agent writes the files of its node: see agent"},
		{"full disk", worker, []Moment{BeforeJoin, AtEnd}, "a worker writes files only while its program runs"},
		{"full /dev/shm", own, all, "guard and agent use no shared memory"},
		{"full /dev/shm", nodes(), all, "each node has its own /dev/shm: see worker"},
		{"full /dev/shm", worker, []Moment{BeforeJoin, AtEnd}, "/dev/shm is full from start to end: see in the collective"},
		{"pids limit", agent, all, "the guard checks the limit for both: see guard"},
		{"pids limit", nodes(), all, "each node has its own limits: see guard and worker"},
		{"pids limit", []Victim{Worker, Guard}, late, "after the join a job needs no further threads or files"},
		{"fd limit", worker, all, "a worker needs fewer files than its agent"},
		{"fd limit", nodes(), all, "each node has its own limits: see guard and agent"},
		{"fd limit", own, late, "after the join a job needs no further threads or files"},
		{"partition", processes, all, "worker, guard and agent are on one node"},
		{"partition of a collective", processes, all, "worker, guard and agent are on one node"},
		{"partition of a collective", nodes(), []Moment{BeforeJoin, AtEnd}, "the fault is one of the collective"},
		{"etcd lost and back", processes, all, "a job on one node needs no etcd"},
		{"etcd lost and back", other, all, "both nodes use the same etcd: see node 0"},
		{"clock jump", []Victim{Worker, Guard}, all, "the processes of a node share a clock: see agent"},
		{"clock jump", other, all, "the nodes of the test share a clock: see node 0"},
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
