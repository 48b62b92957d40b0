// Package membership decides which processes form a group, which rank each has,
// and when the members' collective exchanges complete.
//
// It is a state machine without I/O, goroutines or clocks. Every input is a
// method call that carries the time, every output is an [Effect] which the
// caller carries out. The transcripts under testdata tell what it does.
//
// A group gathers until WorldSize members have joined, and runs until the last one
// leaves. It ends for all members as soon as one is lost: its connection breaks, its
// heartbeats stop, or it reports a failure. A group is used once. A restarted job
// gathers a new group with the next generation number.
package membership

import (
	"fmt"
	"time"
)

// Time is the time since an arbitrary start.
type Time = time.Duration

// SessionID names a member's connection. The caller chooses it and never uses
// one twice.
type SessionID uint64

// CallID names a pending exchange call. The caller chooses it and never uses
// one twice.
type CallID uint64

// Config is what the owner of a group decides.
type Config struct {
	WorldSize        int
	Generation       int           // counts the restarts of the job
	JoinTimeout      time.Duration // longest time from a join until the group is complete
	HeartbeatTimeout time.Duration // a member silent for so long has departed
}

func (c Config) validate() error {
	if c.WorldSize < 1 || c.WorldSize > MaxWorldSize {
		return fmt.Errorf("%w: world size %d is not in 1..%d", ErrInvalid, c.WorldSize, MaxWorldSize)
	}
	if c.JoinTimeout <= 0 || c.HeartbeatTimeout <= 0 {
		return fmt.Errorf("%w: join timeout %v and heartbeat timeout %v must be positive",
			ErrInvalid, c.JoinTimeout, c.HeartbeatTimeout)
	}
	return nil
}

type phase int

const (
	gathering phase = iota
	running
	ended
)

// seat is a member's place in the group.
type seat struct {
	id       SessionID
	member   Member
	deadline Time // gathering: of the join; running: of the next heartbeat
	left     bool // in an orderly way
}

// StateMachine is the state of one group. It is not safe for concurrent use.
type StateMachine struct {
	cfg   Config
	phase phase
	cause error // why the group ended
	seats []*seat
	// seats is in order of arrival while gathering and by rank from then on.

	exchanges map[exchangeKey]*exchange
	calls     map[CallID]*exchange
	pending   int // bytes held by open exchanges
}

// New returns a state machine that waits for the first member.
func New(cfg Config) (*StateMachine, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	return &StateMachine{
		cfg:       cfg,
		exchanges: map[exchangeKey]*exchange{},
		calls:     map[CallID]*exchange{},
	}, nil
}

// Members returns the members by rank. It is nil until the group is complete.
func (m *StateMachine) Members() []Member {
	if m.phase == gathering {
		return nil
	}
	members := make([]Member, len(m.seats))
	for i, s := range m.seats {
		members[i] = s.member
	}
	return members
}

// Heartbeat notes that a member is alive.
func (m *StateMachine) Heartbeat(now Time, id SessionID) {
	if s := m.seat(id); s != nil && m.phase == running {
		s.deadline = now + m.cfg.HeartbeatTimeout
	}
}

// Leave removes a member that ends its part itself. It fails the exchanges that still
// wait for the member, and changes nothing else for the others. Before the group is
// complete, the member counts as lost.
func (m *StateMachine) Leave(id SessionID) []Effect {
	s := m.seat(id)
	if s == nil || s.left || m.phase == ended {
		return nil
	}
	if m.phase == gathering {
		return m.Lose(id, "left before the group was complete")
	}
	s.left = true
	effects := append([]Effect{Dismiss{To: id}}, m.failOpenExchanges(s.peerLeft("left the group"))...)
	if m.allLeft() {
		m.end(fmt.Errorf("%w: all members have left", ErrClosed))
	}
	return effects
}

// Lose removes a member whose connection broke, or that reports a failure. The group
// ends for all others.
func (m *StateMachine) Lose(id SessionID, reason string) []Effect {
	s := m.seat(id)
	if s == nil || s.left || m.phase == ended {
		return nil
	}
	s.left = true
	return append([]Effect{Dismiss{To: id}}, m.end(s.peerLeft(reason))...)
}

// Abort ends the group for everyone, for a reason that only the caller
// knows.
func (m *StateMachine) Abort(cause error) []Effect {
	if m.phase == ended {
		return nil
	}
	return m.end(cause)
}

// Tick lets deadlines expire.
func (m *StateMachine) Tick(now Time) []Effect {
	switch m.phase {
	case gathering:
		for _, s := range m.seats {
			if s.deadline <= now {
				return m.end(m.joinStraggler())
			}
		}
	case running:
		for _, s := range m.seats {
			if !s.left && s.deadline <= now {
				return m.end(s.peerLeft(fmt.Sprintf("no heartbeat for %v", m.cfg.HeartbeatTimeout)))
			}
		}
		return m.expireExchanges(now)
	}
	return nil
}

// Next returns the time at which the state machine wants its next Tick, if any.
func (m *StateMachine) Next() (Time, bool) {
	next, ok := Time(0), false
	sooner := func(t Time) {
		if !ok || t < next {
			next, ok = t, true
		}
	}
	if m.phase == ended {
		return 0, false
	}
	for _, s := range m.seats {
		if !s.left {
			sooner(s.deadline)
		}
	}
	for _, e := range m.exchanges {
		if e.failed == nil {
			sooner(e.deadline)
		}
	}
	return next, ok
}

// end fails all pending calls and dismisses all members with the cause.
func (m *StateMachine) end(cause error) []Effect {
	effects := m.failOpenExchanges(cause)
	for _, s := range m.seats {
		if !s.left {
			effects = append(effects, Dismiss{To: s.id, Err: cause})
		}
	}
	m.phase, m.cause = ended, cause
	clear(m.exchanges)
	m.pending = 0
	return effects
}

func (m *StateMachine) allLeft() bool {
	for _, s := range m.seats {
		if !s.left {
			return false
		}
	}
	return true
}

func (m *StateMachine) seat(id SessionID) *seat {
	for _, s := range m.seats {
		if s.id == id {
			return s
		}
	}
	return nil
}

// peerLeft is the error that tells others of the member's end.
func (s *seat) peerLeft(reason string) *PeerLeft {
	reason = clip(reason, MaxReasonBytes)
	if s.member.Rank == AnyRank {
		reason = fmt.Sprintf("%v: %s", s.member, reason)
	}
	return &PeerLeft{Rank: s.member.Rank, Reason: reason}
}
