package rounds

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Join asks for a place in the next round: of a node that is new, or of one
// that has stopped its workers. A refusal concerns the node alone.
func (m *StateMachine) Join(now Time, id NodeID, about Node) []Effect {
	n := m.nodes[id]
	if n != nil && n.status != stopping {
		return nil // it has joined already
	}
	if end := m.admissible(id, about); end != nil {
		if n != nil {
			m.forget(n)
		}
		return append([]Effect{Dismiss{To: id, End: end}}, m.settle(now)...)
	}
	if n == nil {
		n = &node{id: id}
		m.nodes[id] = n
		m.order = append(m.order, n)
	}
	n.about, n.status, n.spare = about, waiting, false
	n.heartbeat, n.deadline = now+m.cfg.HeartbeatTimeout, now+m.cfg.JoinTimeout
	if m.number == 0 { // another state machine may have run this job before
		m.number = max(m.number, about.Round)
		m.restarts = max(m.restarts, about.Restarts)
	}
	return append(m.newcomer(now, n), m.settle(now)...)
}

// admissible says why a node cannot join, if it cannot.
func (m *StateMachine) admissible(id NodeID, about Node) *End {
	refuse := func(format string, args ...any) *End {
		return &End{Kind: Refused, Reason: clip(fmt.Sprintf(format, args...))}
	}
	for what, text := range map[string]string{"name": about.Name, "role": about.Role, "address": about.Master} {
		if len(text) > MaxNameBytes {
			return refuse("a node's %s of %d bytes; at most %d", what, len(text), MaxNameBytes)
		}
		if strings.ContainsFunc(text, unicode.IsControl) { // it will be shown on terminals
			return refuse("a node's %s with control characters: %q", what, text)
		}
	}
	switch t := m.cfg.Terms; {
	case m.phase == closed && m.end.Kind == Moved:
		return m.end // another state machine may take the node
	case m.phase == closed:
		return &End{Kind: Closed, Reason: "the rendezvous is closed: " + m.end.Reason}
	case m.finishing:
		return &End{Kind: Closed, Reason: "the rendezvous is closed: nodes of the job have finished already"}
	case about.Terms != t:
		return refuse("%s is for %v, this is %v; start every node with the same flags", about.Name, about.Terms, t)
	case len(m.nodes) >= MaxNodes && m.nodes[id] == nil:
		return refuse("%d nodes have joined already, which is the limit", MaxNodes)
	case about.Workers < 0 || about.Workers > MaxWorkers:
		return refuse("%d workers; want 0 to %d", about.Workers, MaxWorkers)
	case about.Round < 0 || about.Round > 1<<30 || about.Restarts < 0 || about.Restarts > t.MaxRestarts:
		return refuse("round %d after %d restarts is not possible", about.Round, about.Restarts)
	case t.Static && (about.Rank < 0 || about.Rank >= t.Max):
		return refuse("node rank %d is not in 0..%d", about.Rank, t.Max-1)
	}
	if other := m.holder(id, about.Rank); other != nil {
		return refuse("node rank %d is held by %s and wanted by %s", about.Rank, other.about.Name, about.Name)
	}
	return nil
}

// holder is another node that has the rank, where nodes name theirs.
func (m *StateMachine) holder(id NodeID, rank int) *node {
	for _, n := range m.order {
		if m.cfg.Terms.Static && n.id != id && n.about.Rank == rank {
			return n
		}
	}
	return nil
}

// newcomer finds out what a node that has just joined means for a round that
// is there already.
func (m *StateMachine) newcomer(now Time, n *node) []Effect {
	switch {
	case m.phase == gathering, m.suspended:
		return nil
	case len(m.group) < m.cfg.Terms.Max:
		return m.restart(now, n.about.Name+" has joined", false)
	}
	return m.standby(n)
}

// standby lets a node wait without a limit: the group is full.
func (m *StateMachine) standby(n *node) []Effect {
	n.deadline = 0
	if n.spare {
		return nil
	}
	n.spare = true
	return []Effect{Standby{To: n.id}}
}

// settle assembles a round when it is complete.
func (m *StateMachine) settle(now Time) []Effect {
	if m.phase != gathering || m.suspended || m.count(stopping) > 0 {
		return nil
	}
	switch n := m.waiting(); {
	case n >= m.cfg.Terms.Max:
		return m.assemble(now)
	case n < m.cfg.Terms.Min:
		m.lastCall = 0
		return nil
	}
	if m.lastCall == 0 {
		m.lastCall = max(now+m.cfg.LastCall, 1)
	}
	if m.lastCall > now {
		return nil
	}
	return m.assemble(now)
}

// assemble gives the nodes that wait their ranks. Those that are too many
// become spares.
func (m *StateMachine) assemble(now Time) []Effect {
	chosen, spares := m.choose()
	m.phase, m.group = confirming, chosen
	m.number++
	m.lastCall, m.confirmBy = 0, now+m.cfg.ReadTimeout
	var effects []Effect
	for rank, r := range m.places() {
		n := chosen[rank]
		n.status, n.rank, n.groupOf, n.spare, n.deadline = assembled, rank, m.number, false, 0
		effects = append(effects, Assemble{To: n.id, Round: r})
	}
	for _, n := range spares {
		effects = append(effects, m.standby(n)...)
	}
	return effects
}

// choose prefers those that came first, and so the nodes of the round before. It
// orders them by static rank, or by name, so that a node keeps its rank where
// it can.
func (m *StateMachine) choose() (chosen, spares []*node) {
	for _, n := range m.order {
		if n.status == waiting {
			chosen = append(chosen, n)
		}
	}
	count := min(len(chosen), m.cfg.Terms.Max)
	chosen, spares = chosen[:count:count], chosen[count:]
	slices.SortStableFunc(chosen, func(a, b *node) int {
		if m.cfg.Terms.Static {
			return cmp.Compare(a.about.Rank, b.about.Rank)
		}
		return strings.Compare(a.about.Name, b.about.Name)
	})
	return chosen, spares
}

// places is what each node of the group learns, by group rank.
func (m *StateMachine) places() []Round {
	world := 0
	roles := map[string]int{}
	rounds := make([]Round, len(m.group))
	for rank, n := range m.group {
		rounds[rank] = Round{
			Number: m.number, Restarts: m.restarts,
			GroupRank: rank, Nodes: len(m.group),
			FirstRank: world, FirstRoleRank: roles[n.about.Role],
			Master: m.group[0].about.Master,
		}
		world += n.about.Workers
		roles[n.about.Role] += n.about.Workers
	}
	for rank, n := range m.group {
		rounds[rank].WorldSize, rounds[rank].RoleWorldSize = world, roles[n.about.Role]
	}
	return rounds
}
