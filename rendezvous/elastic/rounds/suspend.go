package rounds

// Suspend keeps the state machine from assembling a round, because another one may run the job by now. The round that
// is there goes on. Nodes that join wait, for the join timeout at most.
func (m *StateMachine) Suspend() { m.suspended = true }

// Resume ends it: no other state machine runs the job. What the nodes that joined meanwhile mean is found out now.
func (m *StateMachine) Resume(now Time) []Effect {
	if !m.suspended {
		return nil
	}
	m.suspended = false
	var effects []Effect
	for _, n := range append([]*node(nil), m.order...) {
		if n.status == waiting && m.phase != closed {
			effects = append(effects, m.newcomer(now, n)...)
		}
	}
	return append(effects, m.settle(now)...)
}
