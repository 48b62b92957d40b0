package membership

import (
	"fmt"
	"time"
)

// Bounds on exchanges.
const (
	MaxNameBytes     = 256
	MaxExchangeBytes = 15 << 20 // all contributions of one exchange
	MaxPendingBytes  = 64 << 20 // all contributions of all open exchanges
	MaxOpenExchanges = 1024
)

// Operation is the kind of an exchange.
type Operation int

// The operations.
const (
	Barrier Operation = iota + 1
	AllGather
	Broadcast
)

func (o Operation) String() string {
	switch o {
	case Barrier:
		return "barrier"
	case AllGather:
		return "all-gather"
	case Broadcast:
		return "broadcast"
	}
	return fmt.Sprintf("operation %d", int(o))
}

// Arrival is one member's call of an exchange.
type Arrival struct {
	Op       Operation
	Name     string
	Sequence uint64 // how often the member used the name before
	Root     int    // of a broadcast
	Data     []byte // owned by the state machine from here on
	Timeout  time.Duration
}

type exchangeKey struct {
	name     string
	sequence uint64
}

// exchange is a collective that some members have called and others not. One
// that failed stays until every member has been told so.
type exchange struct {
	key      exchangeKey
	op       Operation
	root     int
	opener   int // rank
	deadline Time
	calls    []CallID // by rank; valid where arrived
	arrived  []bool
	count    int
	data     [][]byte // by rank
	bytes    int
	failed   error // what later arrivals are told
}

// Arrive notes that a member has called an exchange. The call is answered by
// a Deliver or a Fail, now or later.
//
// An exchange completes for all members or fails for all of them: when one
// member's time is up, the others are not left to wait for it.
func (m *StateMachine) Arrive(now Time, id SessionID, call CallID, a Arrival) []Effect {
	s, err := m.participant(id)
	if err == nil {
		err = m.acceptable(a)
	}
	if err != nil {
		return []Effect{Fail{Call: call, Err: err}}
	}
	e, err := m.open(now, s.member.Rank, a)
	if err != nil {
		return []Effect{Fail{Call: call, Err: err}}
	}
	return m.arrive(e, s.member.Rank, call, a, now+a.Timeout)
}

// Cancel withdraws a pending call, and with it fails the exchange.
func (m *StateMachine) Cancel(call CallID) []Effect {
	e := m.calls[call]
	if e == nil {
		return nil
	}
	for rank, c := range e.calls {
		if e.arrived[rank] && c == call {
			err := fmt.Errorf("%w: %s: rank %d gave up", ErrAbandoned, e, rank)
			return m.fail(e, err, err)
		}
	}
	return nil
}

// participant finds the member that calls. It returns an error if a member is gone,
// because an exchange could not complete any more.
func (m *StateMachine) participant(id SessionID) (*seat, error) {
	s := m.seat(id)
	switch {
	case s == nil:
		return nil, fmt.Errorf("%w: join first", ErrNotMember)
	case m.phase == gathering:
		return nil, fmt.Errorf("%w: the group is not complete", ErrNotMember)
	case m.phase == ended:
		return nil, m.cause
	}
	for _, other := range m.seats {
		if other.left {
			return nil, other.peerLeft("left the group")
		}
	}
	return s, nil
}

func (m *StateMachine) acceptable(a Arrival) error {
	switch {
	case a.Op < Barrier || a.Op > Broadcast:
		return fmt.Errorf("%w: unknown %v", ErrInvalid, a.Op)
	case a.Name == "" || len(a.Name) > MaxNameBytes:
		return fmt.Errorf("%w: a name of %d bytes; want 1 to %d", ErrInvalid, len(a.Name), MaxNameBytes)
	case a.Op == Broadcast && (a.Root < 0 || a.Root >= m.cfg.WorldSize):
		return fmt.Errorf("%w: broadcast %q: root %d is not in 0..%d", ErrInvalid, a.Name, a.Root, m.cfg.WorldSize-1)
	case a.Timeout <= 0:
		return fmt.Errorf("%w: %v %q: a timeout of %v", ErrInvalid, a.Op, a.Name, a.Timeout)
	}
	return nil
}

// open finds the exchange that an arrival belongs to, or begins it.
func (m *StateMachine) open(now Time, rank int, a Arrival) (*exchange, error) {
	key := exchangeKey{a.Name, a.Sequence}
	if e := m.exchanges[key]; e != nil {
		return e, nil
	}
	if len(m.exchanges) >= MaxOpenExchanges {
		return nil, fmt.Errorf("%w: %v %q: %d exchanges are open", ErrLimit, a.Op, a.Name, MaxOpenExchanges)
	}
	e := &exchange{
		key:      key,
		op:       a.Op,
		root:     a.Root,
		opener:   rank,
		deadline: now + a.Timeout,
		calls:    make([]CallID, m.cfg.WorldSize),
		arrived:  make([]bool, m.cfg.WorldSize),
		data:     make([][]byte, m.cfg.WorldSize),
	}
	m.exchanges[key] = e
	return e, nil
}

func (m *StateMachine) arrive(e *exchange, rank int, call CallID, a Arrival, deadline Time) []Effect {
	if e.arrived[rank] {
		return []Effect{Fail{Call: call, Err: fmt.Errorf("%w: %s: rank %d is already there", ErrInvalid, e, rank)}}
	}
	e.arrived[rank], e.calls[rank] = true, call
	e.count++
	if e.failed != nil {
		m.forgetIfAllCame(e)
		return []Effect{Fail{Call: call, Err: e.failed}}
	}
	m.calls[call] = e
	e.deadline = min(e.deadline, deadline)
	if err := m.contribute(e, rank, a); err != nil {
		return m.fail(e, err, err)
	}
	if e.count < m.cfg.WorldSize {
		return nil
	}
	return m.deliver(e)
}

// contribute takes a member's data, after a check that it means the same
// operation as the others.
func (m *StateMachine) contribute(e *exchange, rank int, a Arrival) error {
	if a.Op != e.op || a.Op == Broadcast && a.Root != e.root {
		mine := exchange{op: a.Op, key: e.key, root: a.Root}
		return fmt.Errorf("%w: rank %d calls %s, rank %d calls %s", ErrMismatch, rank, &mine, e.opener, e)
	}
	if a.Op == Barrier || a.Op == Broadcast && rank != a.Root {
		return nil
	}
	n := len(a.Data)
	if e.bytes+n > MaxExchangeBytes || m.pending+n > MaxPendingBytes {
		return fmt.Errorf("%w: %s: %d bytes from rank %d are too many; at most %d in one exchange, %d in all that are open",
			ErrLimit, e, n, rank, MaxExchangeBytes, MaxPendingBytes)
	}
	e.data[rank] = a.Data
	e.bytes += n
	m.pending += n
	return nil
}

// straggler names the ranks that have not arrived.
func (e *exchange) straggler() *Straggler {
	s := &Straggler{Op: e.op.String(), Name: e.key.name, WorldSize: len(e.arrived)}
	for rank, here := range e.arrived {
		if !here {
			s.Missing = append(s.Missing, rank)
		}
	}
	s.Absent = len(s.Missing)
	return s
}

// String reads `broadcast "uid" from root 0`.
func (e *exchange) String() string {
	s := fmt.Sprintf("%v %q", e.op, e.key.name)
	if e.op == Broadcast {
		s += fmt.Sprintf(" from root %d", e.root)
	}
	return s
}
