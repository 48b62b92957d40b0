package membership

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// deliver answers the calls of all members.
func (m *StateMachine) deliver(e *exchange) []Effect {
	m.release(e)
	var data [][]byte
	switch e.op {
	case AllGather:
		data = e.data
	case Broadcast:
		data = [][]byte{e.data[e.root]}
	}
	effects := make([]Effect, 0, len(e.calls))
	for _, call := range e.calls {
		effects = append(effects, Deliver{Call: call, Data: data})
	}
	delete(m.exchanges, e.key)
	return effects
}

// fail answers the calls of the members that have arrived with err, and later calls
// with late.
func (m *StateMachine) fail(e *exchange, err, late error) []Effect {
	var effects []Effect
	for rank, call := range e.calls {
		if e.arrived[rank] {
			effects = append(effects, Fail{Call: call, Err: err})
		}
	}
	m.release(e)
	e.failed = late
	e.data = nil
	m.forgetIfAllCame(e)
	return effects
}

// release forgets the calls and the bytes of an exchange that is decided.
func (m *StateMachine) release(e *exchange) {
	for rank, call := range e.calls {
		if e.arrived[rank] {
			delete(m.calls, call)
		}
	}
	m.pending -= e.bytes
	e.bytes = 0
}

func (m *StateMachine) forgetIfAllCame(e *exchange) {
	if e.count == m.cfg.WorldSize {
		delete(m.exchanges, e.key)
	}
}

// expireExchanges fails the exchanges whose first caller's time is up.
func (m *StateMachine) expireExchanges(now Time) []Effect {
	var effects []Effect
	for _, e := range m.openExchanges() {
		if e.deadline <= now {
			late := fmt.Errorf("%w: %s: the other members gave up waiting", ErrAbandoned, e)
			effects = append(effects, m.fail(e, e.straggler(), late)...)
		}
	}
	return effects
}

// failOpenExchanges fails everything that still waits for someone.
func (m *StateMachine) failOpenExchanges(err error) []Effect {
	var effects []Effect
	for _, e := range m.openExchanges() {
		effects = append(effects, m.fail(e, err, err)...)
	}
	return effects
}

// openExchanges lists the undecided exchanges in an order that does not depend
// on the map's.
func (m *StateMachine) openExchanges() []*exchange {
	var open []*exchange
	for _, e := range m.exchanges {
		if e.failed == nil {
			open = append(open, e)
		}
	}
	slices.SortFunc(open, func(a, b *exchange) int {
		return cmp.Or(strings.Compare(a.key.name, b.key.name), cmp.Compare(a.key.sequence, b.key.sequence))
	})
	return open
}
