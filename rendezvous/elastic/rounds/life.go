package rounds

import "fmt"

// Confirm is a node's word that it reaches the round's master, or why not. A
// master that a node cannot reach is an error of configuration, which another
// round would not mend.
func (m *StateMachine) Confirm(now Time, id NodeID, round int, failure string) []Effect {
	n := m.member(id, round, assembled)
	if n == nil {
		return nil
	}
	if failure != "" {
		master := m.group[0]
		return m.close(End{Kind: Failed, Reason: fmt.Sprintf("%v cannot reach %v at %s: %s",
			n, master, master.about.Master, failure)})
	}
	n.status = confirmed
	for _, other := range m.group {
		if other.status != confirmed {
			return nil
		}
	}
	return m.begin()
}

// begin starts a round that all of its nodes have confirmed.
func (m *StateMachine) begin() []Effect {
	m.phase = active
	effects := make([]Effect, 0, len(m.group))
	for _, n := range m.group {
		n.status = running
		effects = append(effects, Begin{To: n.id, Round: m.number})
	}
	return effects
}

// expireConfirm loses the nodes that have not confirmed.
func (m *StateMachine) expireConfirm(now Time) []Effect {
	var effects []Effect
	for _, n := range append([]*node(nil), m.group...) {
		if n.status == assembled {
			effects = append(effects, m.giveUp(now, n, fmt.Sprintf("no answer within %v", m.cfg.ReadTimeout))...)
		}
	}
	return effects
}

// Fail is the failure of a node's workers. The group restarts if a restart is
// left.
func (m *StateMachine) Fail(now Time, id NodeID, round int, failure Failure) []Effect {
	n := m.member(id, round, running)
	if n == nil {
		return nil // it has been told to stop for another reason
	}
	failure.Reason = clip(failure.Reason)
	return m.failed(now, n.String()+": "+failure.Reason, &failure)
}

// failed uses up a restart, or ends the job.
func (m *StateMachine) failed(now Time, reason string, failure *Failure) []Effect {
	switch {
	case m.finishing:
		return m.close(End{Kind: Failed, Failure: failure, Reason: reason + "; nodes that have finished cannot restart"})
	case m.restarts < m.cfg.Terms.MaxRestarts:
		m.restarts++
		return m.restart(now, reason, true)
	case m.cfg.Terms.MaxRestarts > 0:
		reason += fmt.Sprintf("; all %d restarts are used up", m.cfg.Terms.MaxRestarts)
	}
	return m.close(End{Kind: Failed, Failure: failure, Reason: reason})
}

// restart tells all nodes of the group to stop and join again.
func (m *StateMachine) restart(now Time, reason string, counts bool) []Effect {
	var effects []Effect
	for _, n := range m.group {
		n.status, n.deadline = stopping, now+m.cfg.JoinTimeout
		effects = append(effects, Stop{To: n.id, Round: m.number, Reason: clip(reason), Counts: counts})
	}
	m.phase, m.group, m.lastCall = gathering, nil, 0
	clear(m.gathers)
	for _, n := range m.order {
		n.deadline = now + m.cfg.JoinTimeout
	}
	return append(effects, m.settle(now)...)
}

// Finish is the success of a node's workers. The node waits for the others.
func (m *StateMachine) Finish(now Time, id NodeID, round int) []Effect {
	n := m.member(id, round, running)
	if n == nil {
		return nil
	}
	n.status, n.deadline = finished, now+m.cfg.ExitTimeout
	m.finishing = true
	return append(m.failGathers("a node has finished"), m.finishTogether()...)
}

// finishTogether ends the job when no node of the group is running any more.
func (m *StateMachine) finishTogether() []Effect {
	for _, n := range m.group {
		if n.status != finished {
			return nil
		}
	}
	return m.close(End{Kind: Finished, Reason: "the job has finished"})
}

// Leave removes a node that ends its part itself.
func (m *StateMachine) Leave(now Time, id NodeID, reason string) []Effect {
	n := m.nodes[id]
	if n == nil {
		return nil
	}
	left := Dismiss{To: id, End: &End{Kind: Left, Reason: "left the job"}}
	return append([]Effect{left}, m.remove(now, n, "left: "+clip(reason))...)
}

// Lose removes a node that ended without Leave.
func (m *StateMachine) Lose(now Time, id NodeID, reason string) []Effect {
	if n := m.nodes[id]; n != nil {
		return m.remove(now, n, clip(reason))
	}
	return nil
}

// giveUp removes a node that does not answer, and tells it so in case it is alive.
func (m *StateMachine) giveUp(now Time, n *node, reason string) []Effect {
	lost := Dismiss{To: n.id, End: &End{Kind: TimedOut, Reason: "this node was removed from the job: " + reason}}
	return append([]Effect{lost}, m.remove(now, n, reason)...)
}

// remove takes a node out of the job. A group that still has
// enough nodes goes on in a new round; where it has too few it is a failure.
func (m *StateMachine) remove(now Time, n *node, reason string) []Effect {
	attended, reason := n.attends(), n.String()+" is gone: "+reason
	m.forget(n)
	switch {
	case !attended && m.finishing:
		return m.finishTogether()
	case !attended:
		return m.settle(now)
	case m.phase == active && (m.finishing || len(m.group)+m.waiting() < m.cfg.Terms.Min):
		return m.failed(now, reason, nil)
	}
	return m.restart(now, reason, false)
}

// member is a node in that round with that status, or nil.
func (m *StateMachine) member(id NodeID, round int, s status) *node {
	if n := m.nodes[id]; n != nil && n.status == s && n.groupOf == round && round == m.number {
		return n
	}
	return nil
}
