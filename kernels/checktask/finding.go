package checktask

import (
	"fmt"
	"slices"

	"gpurun/cudart"
	"gpurun/cudart/sim/check"
	"gpurun/kernels/reference"
)

// The causes of wrong results.
const (
	wrongResult = "the result of a call is wrong"
	notRestored = "the calls have not left the buffer as it was, which the kernel file promises by restored"
)

// output is what a call has computed: so many elements of size bytes, in memory.
type output struct {
	name     string
	at       cudart.DevicePtr
	elements int64
	size     int
}

// note makes a finding of what is wrong with an output of a call.
func (r *rank) note(number int, out output, v reference.Verdict) { r.find(number, wrongResult, out, v) }

func (r *rank) find(number int, cause string, out output, v reference.Verdict) {
	r.found(number, cause, out).add(r.Rank, v)
}

func (r *rank) found(number int, cause string, out output) mismatch {
	return mismatch{
		cause: cause, algorithm: r.Algorithm.Collective + " " + r.algorithm(number).Name, call: r.describe(number),
		output: out,
	}
}

// mismatch is an output that is wrong.
type mismatch struct {
	cause, algorithm, call string
	output
	excess reference.Excess // empty: of no tolerance
}

// add makes a finding of a verdict on an output of this rank, unless nothing is wrong.
func (m mismatch) add(on *check.Rank, v reference.Verdict) {
	if v.Wrong == 0 {
		return
	}
	on.AddWrongResult(check.Finding{
		Cause: m.cause,
		Sides: []check.Access{{Actor: check.Actor{Rank: on.Number, Command: m.call}, Text: m.algorithm}},
		Bytes: uint64(v.Wrong * int64(m.size)),
		Where: fmt.Sprintf("rank %d's %s: element %d is %s; wrong: %d of %d", on.Number, m.name, v.First, m.values(v),
			v.Wrong, m.elements),
		Advice: "a race among the other findings may be the reason",
	}, check.Output{
		At: m.at, Bytes: m.elements * int64(m.size), Wrong: v.First * int64(m.size), Restored: m.cause == notRestored,
	})
}

// values says what the first wrong element is, and what it should be.
func (m mismatch) values(v reference.Verdict) string {
	bits := func(x uint64) string { return fmt.Sprintf("0x%0*x", 2*m.size, x) }
	if m.excess.Bound == "" {
		return fmt.Sprintf("%s, want %s", bits(v.Got), bits(v.Want))
	}
	return fmt.Sprintf("%s (%s), want %s (%s): %s", m.excess.Got, bits(v.Got), m.excess.Want, bits(v.Want), m.excess.Bound)
}

// describe names a call of the run.
func (r *rank) describe(number int) string {
	text := fmt.Sprintf("call %d", number%r.enqueued()+1)
	if r.Replayed {
		text += fmt.Sprintf(" of replay %d", number/r.enqueued()+1)
	}
	switch {
	case r.Shape.Empty:
		return text
	case r.Algorithm.Custom != nil:
		return fmt.Sprintf("%s, of %d bytes", text, r.call(number).Bytes())
	case r.InPlace:
		return fmt.Sprintf("%s, of %d elements in place", text, r.count(number))
	}
	return fmt.Sprintf("%s, of %d elements", text, r.count(number))
}

// compareRestored compares the areas that calls must leave as they were with their initial values. Ranks meet before
// it, since peers write to this rank's memory.
func (r *rank) compareRestored() error {
	if len(r.Algorithm.Restored) == 0 {
		return nil
	}
	if err := r.Meet(); err != nil {
		return err
	}
	last := r.total() - 1
	for _, i := range r.Algorithm.Restored {
		area := r.layout.areas[i]
		got := make([]byte, area.Total())
		if err := r.stream.Download(got, r.comm.Local(area.Offset)); err != nil {
			return fmt.Errorf("downloading the buffer %s: %w", area.Name, err)
		}
		want := slices.Clone(got)
		if err := r.Algorithm.Initial(r.comm, r.call(last), i, want, 0); err != nil {
			return fmt.Errorf("making the initial values of the buffer %s: %w", area.Name, err)
		}
		r.find(last, notRestored, output{area.Name, r.comm.Local(area.Offset), area.Total(), 1}, compareBytes(got, want))
	}
	return nil
}

func compareBytes(got, want []byte) (v reference.Verdict) {
	for at := range got {
		if got[at] != want[at] {
			v = v.Merge(reference.Verdict{Wrong: 1, First: int64(at), Want: uint64(want[at]), Got: uint64(got[at])})
		}
	}
	return v
}
