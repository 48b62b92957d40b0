package rounds

// ToAll is the destination of a message for all nodes of the round, its sender included.
const ToAll = -1

// MaxTellBytes bounds a message between nodes of a round.
const MaxTellBytes = 8 << 20

// Tell passes a message of a node on to the node of the round with a group rank, or to all. The message is lost if its
// sender no longer belongs to the round, or if no node of the round has that rank.
func (m *StateMachine) Tell(id NodeID, round, to int, name string, data []byte) []Effect {
	from := m.nodes[id]
	belongs := from != nil && (from.status == running || from.status == finished) && from.groupOf == round &&
		round == m.number
	if !belongs || len(name) > MaxNameBytes || len(data) > MaxTellBytes {
		return nil
	}
	var effects []Effect
	for _, n := range m.group {
		if to == ToAll || n.rank == to {
			effects = append(effects, Told{To: n.id, Round: round, From: from.rank, Name: name, Data: data})
		}
	}
	return effects
}
