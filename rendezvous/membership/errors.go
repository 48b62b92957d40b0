package membership

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Refusals: the request was wrong or came at the wrong time.
var (
	ErrInvalid       = errors.New("invalid request")
	ErrLimit         = errors.New("over a limit")
	ErrDuplicateRank = errors.New("duplicate rank")
	ErrWorldSize     = errors.New("world sizes differ")
	ErrClosed        = errors.New("the group is closed")
	ErrNotMember     = errors.New("not a member of the group")
	ErrMismatch      = errors.New("members disagree about a collective")
	ErrAbandoned     = errors.New("collective abandoned")
)

// PeerLeft says that a member of the group is gone.
type PeerLeft struct {
	Rank   int // AnyRank when it had none yet
	Reason string
}

func (e *PeerLeft) Error() string {
	if e.Rank == AnyRank {
		return "a member without a rank departed: " + e.Reason
	}
	return fmt.Sprintf("rank %d departed: %s", e.Rank, e.Reason)
}

// JoinOp is a Straggler's Op when the group did not become complete.
const JoinOp = "join"

// Straggler names the members that did not arrive in time. It is a
// [context.DeadlineExceeded].
type Straggler struct {
	Op        string // such as "join" or "barrier"
	Name      string // of the exchange; empty for a join
	Missing   []int  // ranks, ascending; empty where they cannot be told
	Absent    int    // how many are missing
	WorldSize int
}

// Error reads `barrier "ready": waiting for ranks 2, 5 of 8`.
func (e *Straggler) Error() string {
	op := e.Op
	if e.Name != "" {
		op += fmt.Sprintf(" %q", e.Name)
	}
	if len(e.Missing) == 0 {
		return fmt.Sprintf("%s: waiting for %d more of %d members", op, e.Absent, e.WorldSize)
	}
	return fmt.Sprintf("%s: waiting for %s of %d", op, formatRanks(e.Missing), e.WorldSize)
}

// Unwrap makes errors.Is(err, context.DeadlineExceeded) work.
func (e *Straggler) Unwrap() error { return context.DeadlineExceeded }

// Aborted says that the owner of the group ended the job.
type Aborted struct {
	Reason string
}

func (e *Aborted) Error() string { return "job aborted: " + e.Reason }

// formatRanks reads "rank 3" or "ranks 0, 2-5, 7"; ranks ascend.
func formatRanks(ranks []int) string {
	if len(ranks) == 1 {
		return fmt.Sprintf("rank %d", ranks[0])
	}
	var parts []string
	for i := 0; i < len(ranks); {
		j := i
		for j+1 < len(ranks) && ranks[j+1] == ranks[j]+1 {
			j++
		}
		switch j - i {
		case 0:
			parts = append(parts, fmt.Sprint(ranks[i]))
		case 1:
			parts = append(parts, fmt.Sprint(ranks[i]), fmt.Sprint(ranks[j]))
		default:
			parts = append(parts, fmt.Sprintf("%d-%d", ranks[i], ranks[j]))
		}
		i = j + 1
	}
	return "ranks " + strings.Join(parts, ", ")
}

// clip cuts a text that comes from outside, at a character's edge.
func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "..."
}
