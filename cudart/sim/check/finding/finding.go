// Package finding says what was found, and how it reads. It knows nothing of how mistakes are found.
package finding

import (
	"fmt"
	"slices"

	"gpurun/cudart/sim/check/race"
)

// Kind says what is wrong.
type Kind string

// The kinds of findings.
const (
	Race              Kind = "race" // two accesses that nothing orders, one of them a write
	Deadlock          Kind = "deadlock"
	Uninitialized     Kind = "uninitialized"
	OutOfBounds       Kind = "out-of-bounds"
	Misaligned        Kind = "misaligned"
	Freed             Kind = "freed"
	Leak              Kind = "leak" // a note
	WrongResult       Kind = "wrong-result"
	ScheduleDependent Kind = "schedule-dependent"
	StaleFlag         Kind = "stale-flag"
	LostSignal        Kind = "lost-signal"
	Torn              Kind = "torn"
	BarrierDivergence Kind = "barrier-divergence"
	EndlessLoop       Kind = "endless-loop"
)

// PriorNotWaited is the cause of a race between two kernels of a stream that programmatic dependent launch lets
// overlap.
const PriorNotWaited = "prior grid not waited for"

// Where wrong results come from.
const (
	NotStored = "no store has written the element" // the memory holds what was there before the call
	ReadEarly = "a load came before the store of the same call"
	ReadLate  = "a load came behind the store of a later call"
)

// SameValue is the cause of a race that changes no result.
const SameValue = "both store the same value"

// Finding is a mistake, for people. It stands for all findings of its kind and cause at the same instructions.
type Finding struct {
	Kind  Kind
	Cause string // a short phrase, which is the same for all findings of one cause
	// Origin is where a wrong result comes from, by its first wrong element; "" if that is not known.
	Origin string
	// Sides are the accesses or places that took part, in the order in which they were performed; of a race two.
	Sides []Access
	Bytes uint64 // of the memory concerned, that the last side accessed; 0 if no memory is
	Where string // the first of the bytes, such as "rank 1's input at +0x40"
	// Flag is the release and the acquire that would order two sides if their scopes were wider, if there are any.
	Flag   *[2]Access
	Advice string // what to do
	// Waits are all that waits in a deadlock, and in a barrier that is never complete.
	Waits []Wait
	// Note is true for what changes no result: what the PTX memory model forbids and current hardware does not show, two
	// stores of the [SameValue], and a Leak.
	Note  bool
	Count int // how often it was seen
}

// Access is one side of a race.
type Access struct {
	Actor
	Kind   race.Kind
	Scope  race.Scope
	Text   string // the instruction, or the command of a stream
	Module string // "" for commands
	Line   int    // in the module's PTX
	Source string // the line of the source that the PTX was made of, or ""
	// InlinedAt is the line of the call by which that was inlined, or "". Calls in inlined code have several.
	InlinedAt string
}

// Actor is who performed an access: a warp of a kernel, or a command.
type Actor struct {
	Rank   int
	Kernel string // "" for commands
	Launch int    // of the kernel, from 1 on, among all of the run
	// Cluster is the block's cluster in its grid. Without clusters a block is one.
	Cluster, Block, Warp int
	Command              string // such as "stream 0"
}

// Key is the same for findings of one kind and cause at the same instructions, in whichever order they were performed.
// A wrong result is the same whether it is known where it comes from or not.
func (f *Finding) Key() string {
	var sides []string
	for i, s := range f.Sides {
		if f.Kind == WrongResult && i > 0 {
			break
		}
		sides = append(sides, fmt.Sprintf("%s:%d %s %d", s.Module, s.Line, s.Text, s.Kind))
	}
	slices.Sort(sides)
	return fmt.Sprintf("%s %s %q", f.Kind, f.Cause, sides)
}
