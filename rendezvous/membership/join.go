package membership

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
)

// Join asks for a place in the group. Timeout bounds the wait for the other
// members where it is positive and shorter than the state machine's own.
//
// A join that is refused concerns the newcomer alone. A join that times out
// ends the group: it cannot become complete any more.
func (m *StateMachine) Join(now Time, id SessionID, who Member, timeout time.Duration) []Effect {
	if err := m.admissible(who); err != nil {
		return []Effect{Dismiss{To: id, Err: err}}
	}
	if timeout <= 0 || timeout > m.cfg.JoinTimeout {
		timeout = m.cfg.JoinTimeout
	}
	who.WorldSize = m.cfg.WorldSize
	who.Device = bytes.Clone(who.Device)
	m.seats = append(m.seats, &seat{id: id, member: who, deadline: now + timeout})
	if len(m.seats) < m.cfg.WorldSize {
		return nil
	}
	return m.complete(now)
}

// admissible says why a member cannot join, if it cannot.
func (m *StateMachine) admissible(who Member) error {
	switch {
	case m.phase == ended:
		return fmt.Errorf("joining a group that has ended: %w", m.cause)
	case m.phase == running:
		return fmt.Errorf("%w: all %d members of generation %d have joined", ErrClosed, m.cfg.WorldSize, m.cfg.Generation)
	case who.WorldSize != 0 && who.WorldSize != m.cfg.WorldSize:
		return fmt.Errorf("%w: %v expects %d, the rendezvous serves %d; start every member with the same number",
			ErrWorldSize, who, who.WorldSize, m.cfg.WorldSize)
	case who.Rank < AnyRank || who.Rank >= m.cfg.WorldSize:
		return fmt.Errorf("%w: rank %d is not in 0..%d", ErrInvalid, who.Rank, m.cfg.WorldSize-1)
	case len(who.Host) > MaxHostBytes:
		return fmt.Errorf("%w: a host name of %d bytes; at most %d", ErrLimit, len(who.Host), MaxHostBytes)
	case strings.ContainsFunc(who.Host, unicode.IsControl): // it will be shown on terminals
		return fmt.Errorf("%w: a host name with control characters: %q", ErrInvalid, who.Host)
	case len(who.Device) > MaxDeviceBytes:
		return fmt.Errorf("%w: a device description of %d bytes; at most %d", ErrLimit, len(who.Device), MaxDeviceBytes)
	}
	for _, s := range m.seats {
		if who.Rank != AnyRank && s.member.Rank == who.Rank {
			return fmt.Errorf("%w: rank %d is held by %v and wanted by %v", ErrDuplicateRank, who.Rank, s.member, who)
		}
	}
	return nil
}

// complete assigns the ranks that are still open and welcomes all members.
func (m *StateMachine) complete(now Time) []Effect {
	m.assignRanks()
	m.phase = running
	effects := make([]Effect, 0, len(m.seats))
	for _, s := range m.seats {
		s.deadline = now + m.cfg.HeartbeatTimeout
		effects = append(effects, Welcome{To: s.id, Rank: s.member.Rank})
	}
	return effects
}

// assignRanks gives the free ranks, lowest first, to the members that asked
// for any, ordered by host, local rank and process: the same members get the
// same ranks in whatever order they arrive, and neighbors on a host are
// neighbors in rank.
func (m *StateMachine) assignRanks() {
	byRank := make([]*seat, m.cfg.WorldSize)
	var open []*seat
	for _, s := range m.seats {
		if s.member.Rank == AnyRank {
			open = append(open, s)
		} else {
			byRank[s.member.Rank] = s
		}
	}
	slices.SortStableFunc(open, func(a, b *seat) int {
		return cmp.Or(
			strings.Compare(a.member.Host, b.member.Host),
			cmp.Compare(a.member.LocalRank, b.member.LocalRank),
			cmp.Compare(a.member.PID, b.member.PID),
		)
	})
	for rank, s := range byRank {
		if s == nil {
			byRank[rank], open = open[0], open[1:]
			byRank[rank].member.Rank = rank
		}
	}
	m.seats = byRank
}

// joinStraggler names the ranks that have not joined, or only their number
// when members that take any rank make it impossible to say which.
func (m *StateMachine) joinStraggler() *Straggler {
	s := &Straggler{Op: JoinOp, Absent: m.cfg.WorldSize - len(m.seats), WorldSize: m.cfg.WorldSize}
	taken := make([]bool, m.cfg.WorldSize)
	for _, seat := range m.seats {
		if seat.member.Rank == AnyRank {
			return s
		}
		taken[seat.member.Rank] = true
	}
	for rank, t := range taken {
		if !t {
			s.Missing = append(s.Missing, rank)
		}
	}
	return s
}
