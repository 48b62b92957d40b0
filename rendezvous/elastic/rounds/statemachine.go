// Package rounds decides which nodes form each round of an elastic job, which ranks
// they have, when a round begins, and when all nodes must stop and join again.
//
// It is a state machine without I/O, goroutines or clocks. Every input is a
// method call that carries the time, every output is an [Effect] which the
// caller carries out. The transcripts under testdata tell what it does.
//
// The rules are those of torchrun's c10d rendezvous. With Max nodes a round is
// complete at once. With Min nodes it is complete LastCall later. A new node restarts
// the group, which uses up no restart. If the group is full, the node waits as a
// spare.
//
// Two rules differ from torchrun's. All nodes hear of a failure or a lost node at
// once. Restarts are counted once for the job, not by every node.
//
// The inputs have the names that package membership uses: Join, Heartbeat, Leave,
// Lose, Tick and Next. "Round" means only such a round in gpurun.
package rounds

import (
	"fmt"
	"time"
)

// Config is what the owner of a job decides.
type Config struct {
	Terms            Terms
	JoinTimeout      time.Duration // longest wait of a node for a round, except as a spare
	LastCall         time.Duration // after Min nodes have joined
	ReadTimeout      time.Duration // longest wait for all nodes to confirm, or to contribute
	HeartbeatTimeout time.Duration // a node silent for so long is lost
	ExitTimeout      time.Duration // longest wait of a node that succeeded for the others
}

func (c Config) validate() error {
	t := c.Terms
	if t.Min < 1 || t.Max < t.Min || t.Max > MaxNodes {
		return fmt.Errorf("%d:%d nodes: want 1 <= MIN <= MAX <= %d", t.Min, t.Max, MaxNodes)
	}
	if t.Static && t.Min != t.Max {
		return fmt.Errorf("%d:%d nodes: a static rendezvous has a fixed number; c10d and etcd take a range", t.Min, t.Max)
	}
	if t.MaxRestarts < 0 {
		return fmt.Errorf("at most %d restarts: want 0 or more", t.MaxRestarts)
	}
	for _, d := range []time.Duration{c.JoinTimeout, c.ReadTimeout, c.HeartbeatTimeout, c.ExitTimeout} {
		if d <= 0 {
			return fmt.Errorf("timeouts of a rendezvous must be positive, not %v", d)
		}
	}
	return nil
}

type phase int

const (
	gathering  phase = iota // nodes join; those of the round before stop their workers
	confirming              // the round's nodes try to reach the master
	active
	closed
)

// StateMachine is the state of one job. It is not safe for concurrent use.
type StateMachine struct {
	cfg   Config
	phase phase
	nodes map[NodeID]*node
	order []*node // in order of arrival
	group []*node // of the round, by rank; without those that are gone

	number    int // of the round
	restarts  int
	finishing bool // a node of the round has succeeded
	suspended bool // no round may be assembled: see Suspend
	lastCall  Time // when a round with less than Max nodes is complete; 0: too few
	confirmBy Time
	gathers   map[string]*gather
	end       *End
}

// New returns a state machine that waits for the first node.
func New(cfg Config) (*StateMachine, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &StateMachine{cfg: cfg, nodes: map[NodeID]*node{}, gathers: map[string]*gather{}}, nil
}

// Ended says how the job ended; nil while it has not.
func (m *StateMachine) Ended() *End { return m.end }

// Spares is the number of nodes that wait for the place of another.
func (m *StateMachine) Spares() int {
	count := 0
	for _, n := range m.order {
		if n.spare {
			count++
		}
	}
	return count
}

// Heartbeat notes that a node is alive.
func (m *StateMachine) Heartbeat(now Time, id NodeID) {
	if n := m.nodes[id]; n != nil {
		n.heartbeat = now + m.cfg.HeartbeatTimeout
	}
}

// Close ends the job for all nodes.
func (m *StateMachine) Close(end End) []Effect {
	if m.phase == closed {
		return nil
	}
	return m.close(end)
}

// close dismisses all nodes.
func (m *StateMachine) close(end End) []Effect {
	end.Reason = clip(end.Reason)
	var effects []Effect
	for _, n := range m.order {
		effects = append(effects, Dismiss{To: n.id, End: &end})
	}
	m.phase, m.end = closed, &end
	m.order, m.group = nil, nil
	clear(m.nodes)
	clear(m.gathers)
	return effects
}

// Tick lets deadlines expire.
func (m *StateMachine) Tick(now Time) []Effect {
	var effects []Effect
	for _, n := range append([]*node(nil), m.order...) {
		if m.nodes[n.id] != n {
			continue // it went with one before it
		}
		if n.heartbeat <= now {
			effects = append(effects, m.giveUp(now, n, fmt.Sprintf("no heartbeat for %v", m.cfg.HeartbeatTimeout))...)
		} else if n.deadline > 0 && n.deadline <= now {
			effects = append(effects, m.expire(now, n)...)
		}
	}
	if m.phase == confirming && m.confirmBy <= now {
		effects = append(effects, m.expireConfirm(now)...)
	}
	effects = append(effects, m.expireGathers(now)...)
	return append(effects, m.settle(now)...)
}

// expire ends a node's wait.
func (m *StateMachine) expire(now Time, n *node) []Effect {
	switch n.status {
	case waiting:
		m.forget(n)
		joined, least := m.waiting()+1, m.cfg.Terms.Min
		reason := fmt.Sprintf("%d of %d nodes joined within %v", joined, least, m.cfg.JoinTimeout)
		if joined >= least {
			reason = fmt.Sprintf("%d nodes joined within %v, which is enough, but the last call for more, of %v, "+
				"is not over: set a longer join_timeout or a shorter last_call_timeout in --rdzv-conf",
				joined, m.cfg.JoinTimeout, m.cfg.LastCall)
		}
		if still := m.count(stopping); still > 0 {
			reason = fmt.Sprintf("%d nodes have not stopped their workers within %v", still, m.cfg.JoinTimeout)
		}
		return []Effect{Dismiss{To: n.id, End: &End{Kind: TimedOut, Reason: reason}}}
	case stopping:
		return m.giveUp(now, n, fmt.Sprintf("has not stopped its workers within %v", m.cfg.JoinTimeout))
	case finished:
		left := m.count(running)
		m.forget(n)
		reason := fmt.Sprintf("%d other nodes have not finished within %v", left, m.cfg.ExitTimeout)
		return []Effect{Dismiss{To: n.id, End: &End{Kind: TimedOut, Reason: reason}}}
	}
	return nil
}

// Next returns the time at which the state machine wants its next Tick, if any.
func (m *StateMachine) Next() (Time, bool) {
	next := Time(0)
	sooner := func(t Time) {
		if t > 0 && (next == 0 || t < next) {
			next = t
		}
	}
	for _, n := range m.order {
		sooner(n.heartbeat)
		sooner(n.deadline)
	}
	for _, g := range m.gathers {
		sooner(g.deadline)
	}
	switch m.phase {
	case gathering:
		if !m.suspended {
			sooner(m.lastCall)
		}
	case confirming:
		sooner(m.confirmBy)
	}
	return next, next > 0
}

// forget removes a node that is gone.
func (m *StateMachine) forget(n *node) {
	delete(m.nodes, n.id)
	m.order = without(m.order, n)
	m.group = without(m.group, n)
}

func without(nodes []*node, gone *node) []*node {
	for i, n := range nodes {
		if n == gone {
			return append(nodes[:i:i], nodes[i+1:]...)
		}
	}
	return nodes
}

func (m *StateMachine) count(s status) int {
	count := 0
	for _, n := range m.order {
		if n.status == s {
			count++
		}
	}
	return count
}

func (m *StateMachine) waiting() int { return m.count(waiting) }
