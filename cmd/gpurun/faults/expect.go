package faults

import (
	"slices"
	"strings"
	"time"
)

// Expectation is how gpurun documents that a cell ends: docs/exit-codes.md and docs/launching.md.
type Expectation struct {
	Code     int
	Sentence string // a piece of the first sentence; the parts between "..." follow each other
	// Grace is the documented time from the strike to the end, or the time that the fault itself takes.
	Grace time.Duration
}

// row is the expectation of cells.
type row struct {
	fault   string
	victims []Victim
	moments []Moment
	Expectation
}

// Short names for the table.
var (
	all    = Moments()
	before = []Moment{BeforeJoin}
	during = []Moment{InCollective}
	ending = []Moment{AtEnd}
	early  = []Moment{BeforeJoin, InCollective}
	late   = []Moment{InCollective, AtEnd}

	worker = []Victim{Worker}
	guard  = []Victim{Guard}
	agent  = []Victim{Agent}
	node0  = []Victim{Node0}
	other  = []Victim{OtherNode}
)

// Times that gpurun documents, or that a job here sets by a flag.
const (
	grace     = time.Second                // --grace and --signal-grace
	peerWait  = waiting * time.Second      // -T
	stopWait  = 4 * time.Second            // an agent that is stopped
	lostWait  = heartbeats * time.Second   // of the keep-alive
	rankWait  = 30 * time.Second           // of collectives, for a heartbeat
	joinWait  = joinTimeout * time.Second  // --join-timeout
	stuckWait = 2 * time.Second            // a reader that does not read
	tooFew    = "of 3 nodes joined within" // the third node does not come
	serverOff = "the agent that serves the rendezvous is gone"
	finished  = "the workers of this node have succeeded, but the nodes did not leave together"
)

// expected has every cell that means something.
func expected() []row {
	return []row{
		{"kill -9", worker, early, Expectation{5, "was killed by SIGKILL", grace}},
		{"kill -9", worker, ending, Expectation{137, "was killed by SIGKILL", grace}},
		{"kill -9", guard, all, Expectation{137, "", grace}},
		{"kill -9", agent, all, Expectation{137, "the agent (pid ... was killed by SIGKILL; its workers were ended", 0}},
		{"kill -9", node0, before, Expectation{6, serverOff, joinWait}},
		{"kill -9", node0, late, Expectation{221, serverOff, grace}},
		{"kill -9", other, before, Expectation{6, "1 " + tooFew, joinWait}},
		{"kill -9", other, during, Expectation{221, "is gone: connection lost", grace}},
		{"kill -9", other, ending, Expectation{0, "", grace}},

		{"SIGSTOP", worker, before, Expectation{6, "did not arrive in time", peerWait + grace}},
		{"SIGSTOP", worker, during, Expectation{4, "did not arrive in time", peerWait + grace}},
		{"SIGSTOP", worker, ending, Expectation{143, "", grace}},
		{"SIGSTOP", guard, all, Expectation{143, "", pause + grace}},
		{"SIGSTOP", agent, all, Expectation{4, "the agent (pid ... was stopped for 4s", stopWait + grace}},
		{"SIGSTOP", node0, before, Expectation{6, serverOff, joinWait + lostWait}},
		{"SIGSTOP", node0, late, Expectation{221, serverOff + ": no heartbeat", lostWait + grace}},
		{"SIGSTOP", other, before, Expectation{6, tooFew, joinWait + lostWait}},
		{"SIGSTOP", other, during, Expectation{221, "is gone: no heartbeat", lostWait + grace}},
		{"SIGSTOP", other, ending, Expectation{0, "", lostWait + grace}},

		{"segfault", worker, early, Expectation{3, "crashed: it received SIGSEGV", grace}},
		{"segfault", worker, ending, Expectation{139, "was killed by SIGSEGV", grace}},
		{"segfault", guard, all, Expectation{3, "the guard (pid ... received SIGSEGV", grace}},
		{"segfault", agent, all, Expectation{3, "the agent (pid ... crashed: it received SIGSEGV", 0}},
		{"segfault", node0, before, Expectation{6, serverOff, joinWait}},
		{"segfault", node0, late, Expectation{221, serverOff, grace}},
		{"segfault", other, before, Expectation{6, "1 " + tooFew, joinWait}},
		{"segfault", other, during, Expectation{221, "is gone: connection lost", grace}},
		{"segfault", other, ending, Expectation{0, "", grace}},

		{"exit", worker, all, Expectation{7, "rank 1 (pid ... exited with code 7", grace}},
		{"exit", nodes(), during, Expectation{7, "exited with code 7", grace}},
		{"exit", nodes(), ending, Expectation{0, finished + "...exited with code 7", grace}},
		{"OOM kill", worker, all, Expectation{137, "because memory ran out", grace}},
		{"OOM kill", nodes(), during, Expectation{137, "because memory ran out", grace}},
		{"OOM kill", nodes(), ending, Expectation{0, finished + "...because memory ran out", grace}},
		{"hang before join", worker, before, Expectation{6, "did not arrive in time", peerWait + grace}},
		{"hang before join", node0, before, Expectation{6, "is gone, or has not started", joinWait}},
		{"hang before join", other, before, Expectation{6, "1 of 2 nodes joined within", joinWait}},
		{"hang in kernel", worker, during, Expectation{4, "rank 1 did not arrive in time", peerWait + grace}},

		{"corrupt byte", worker, during, Expectation{1, "is wrong", 0}},
		{"corrupt byte", nodes(), before, Expectation{6, "joining the rendezvous", joinWait}},
		{"corrupt byte", node0, during, Expectation{221, serverOff, grace}},
		{"corrupt byte", other, during, Expectation{221, "is gone: connection lost", grace}},
		{"corrupt byte", node0, ending, Expectation{0, finished + "..." + serverOff, grace}},
		{"corrupt byte", other, ending, Expectation{0, "", grace}},
		{"truncated message", nodes(), before, Expectation{6, "joining the rendezvous", joinWait}},
		{"truncated message", node0, during, Expectation{221, serverOff, grace}},
		{"truncated message", other, during, Expectation{221, "is gone: connection lost", grace}},
		{"truncated message", node0, ending, Expectation{0, finished + "..." + serverOff, grace}},
		{"truncated message", other, ending, Expectation{0, "", grace}},
		{"wrong token", agent, early, Expectation{143, "", pause + grace}},
		{"wrong token", node0, before, Expectation{6, tooFew, joinWait}},
		{"wrong token", node0, late, Expectation{0, "", joinWait}},

		{"slow reader", agent, late, Expectation{143, "", pause + stuckWait + grace}},
		{"closed stdout", agent, before, Expectation{0, "", 0}}, // the Go runtime opens /dev/null
		{"closed stdout", agent, late, Expectation{141, "", grace}},
		{"full disk", agent, before, Expectation{3, "no space left on device", 0}},
		{"full disk", agent, late, Expectation{3, "no space left on device", grace}},
		{"full disk", worker, during, Expectation{0, "no space is left on the disk of a worker's output", grace}},
		{"full /dev/shm", worker, during, Expectation{0, "", 0}},
		{"pids limit", guard, before, Expectation{3, "more threads may be created", 0}},
		{"pids limit", worker, before, Expectation{3, "pids.max of the cgroup is 40: raise what is too low", grace}},
		{"fd limit", guard, before, Expectation{3, "the limit of open files is 20", 0}},
		{"fd limit", agent, before, Expectation{3, "too many open files...ulimit -n is 40", 0}},

		{"partition", node0, before, Expectation{6, serverOff, joinWait + lostWait}},
		{"partition", node0, during, Expectation{221, serverOff + ": no heartbeat", lostWait + grace}},
		{"partition", node0, ending, Expectation{0, finished + "..." + serverOff, lostWait + grace}},
		{"partition", other, before, Expectation{6, tooFew, joinWait + lostWait}},
		{"partition", other, during, Expectation{221, "is gone: no heartbeat", lostWait + grace}},
		{"partition", other, ending, Expectation{0, "", lostWait + grace}},
		{"partition of a collective", node0, during, Expectation{221, "is gone: ", rankWait + grace}},
		{"partition of a collective", other, during, Expectation{221, "departed: no heartbeat for 30s", rankWait + grace}},
		{"etcd lost and back", node0, all, Expectation{0, "", 3 * away}},
		{"clock jump", agent, all, Expectation{143, "", pause + grace}},
		{"clock jump", node0, before, Expectation{6, tooFew, joinWait}},
		{"clock jump", node0, late, Expectation{0, "", pause}},
	}
}

// Expected returns how a cell should end; false: it means nothing.
func Expected(c Cell) (Expectation, bool) {
	for _, r := range expected() {
		if r.fault == c.Fault && slices.Contains(r.victims, c.Victim) && slices.Contains(r.moments, c.Moment) {
			return r.Expectation, true
		}
	}
	return Expectation{}, false
}

// Wrong says what of an outcome is not as expected; it is empty if all is well.
func (e Expectation) Wrong(o Outcome) []string {
	var wrong []string
	if o.Code != e.Code {
		wrong = append(wrong, "exit code")
	}
	if !has(o.Sentence, e.Sentence) {
		wrong = append(wrong, "sentence")
	}
	if o.Beyond > MostBeyond {
		wrong = append(wrong, "time")
	}
	if len(o.Left) > 0 {
		wrong = append(wrong, "what is left")
	}
	return wrong
}

// has reports whether a text has the parts of a pattern, one after the other.
func has(text, pattern string) bool {
	for part := range strings.SplitSeq(pattern, "...") {
		_, rest, found := strings.Cut(text, part)
		if !found {
			return false
		}
		text = rest
	}
	return true
}
