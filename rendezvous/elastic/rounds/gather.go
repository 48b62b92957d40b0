package rounds

import (
	"fmt"
	"maps"
	"slices"
)

// gather is an all-gather of a round.
type gather struct {
	data     [][]byte // by group rank; nil: has yet to come
	count    int
	bytes    int
	deadline Time   // of the first who came; 0: it has failed
	failed   string // why it cannot succeed any more
}

// Contribute is a node's part of an all-gather of its round, under a name that
// the round uses once at a time.
func (m *StateMachine) Contribute(now Time, id NodeID, round int, name string, data []byte) []Effect {
	n := m.member(id, round, running)
	if n == nil {
		return nil // it has been told to stop
	}
	g := m.gathers[name]
	switch {
	case len(name) > MaxNameBytes || len(data) > MaxDataBytes:
		return m.refuseGather(n, name, fmt.Sprintf("%d bytes under a name of %d; at most %d and %d",
			len(data), len(name), MaxDataBytes, MaxNameBytes))
	case m.finishing:
		return m.refuseGather(n, name, "a node has finished")
	case g == nil && len(m.gathers) >= MaxGathers:
		return m.refuseGather(n, name, fmt.Sprintf("%d others are open", MaxGathers))
	case g == nil:
		g = &gather{data: make([][]byte, len(m.group)), deadline: now + m.cfg.ReadTimeout}
		m.gathers[name] = g
	case g.failed != "":
		return m.refuseGather(n, name, g.failed)
	case g.data[n.rank] != nil:
		return m.refuseGather(n, name, "the node has contributed already")
	}
	g.data[n.rank] = append([]byte{}, data...)
	g.count++
	if g.bytes += len(data); g.bytes > MaxGatherBytes {
		return m.failGather(name, fmt.Sprintf("over %d bytes in all", MaxGatherBytes))
	}
	if g.count < len(g.data) {
		return nil
	}
	delete(m.gathers, name)
	effects := make([]Effect, 0, len(m.group))
	for _, other := range m.group {
		effects = append(effects, Gathered{To: other.id, Round: m.number, Name: name, Data: g.data})
	}
	return effects
}

func (m *StateMachine) refuseGather(n *node, name, reason string) []Effect {
	return []Effect{GatherFailed{To: n.id, Round: m.number, Name: name, Reason: reason}}
}

// expireGathers fails those that some nodes have not come to.
func (m *StateMachine) expireGathers(now Time) []Effect {
	var effects []Effect
	for _, name := range slices.Sorted(maps.Keys(m.gathers)) {
		if g := m.gathers[name]; g.failed == "" && g.deadline <= now {
			reason := fmt.Sprintf("%d of %d nodes came within %v", g.count, len(g.data), m.cfg.ReadTimeout)
			effects = append(effects, m.failGather(name, reason)...)
		}
	}
	return effects
}

// failGathers fails those that are open.
func (m *StateMachine) failGathers(reason string) []Effect {
	var effects []Effect
	for _, name := range slices.Sorted(maps.Keys(m.gathers)) {
		if m.gathers[name].failed == "" {
			effects = append(effects, m.failGather(name, reason)...)
		}
	}
	return effects
}

// failGather answers the nodes that have contributed. Later contributions get the same
// answer.
func (m *StateMachine) failGather(name, reason string) []Effect {
	g := m.gathers[name]
	var effects []Effect
	for _, n := range m.group {
		if g.data[n.rank] != nil {
			effects = append(effects, m.refuseGather(n, name, reason)...)
		}
	}
	g.failed, g.deadline, g.data = reason, 0, nil
	return effects
}
