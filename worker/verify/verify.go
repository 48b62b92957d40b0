// Package verify has what the verification of all kinds of calls shares: it passes memory
// through the host, injects faults, and describes what is wrong.
package verify

import (
	"errors"
	"fmt"

	"gpurun/kernels/reference"
	"gpurun/worker/result"
)

// Poison fills an output before a call, so that elements that the call does not write are found.
// A poisoned element is NaN as a float of any type. As an integer it is -1 or the largest value,
// which a result may have in some elements, but not in all.
const Poison = 0xff

// ErrInputChanged reports that a call changed its input.
var ErrInputChanged = errors.New("an out-of-place call changed its input")

// ErrCorruptionMissed reports that the verification did not find an injected corruption.
var ErrCorruptionMissed = errors.New("corruption was injected and not found: this is a bug in gpurun's verification")

// ErrCheckWrong reports that a checking kernel's quantities differ from the reference's.
var ErrCheckWrong = errors.New("the kernel that checks results of this size computed wrong values, " +
	"or its memory was overwritten")

// Describe describes what is wrong with a rank's output of so many elements of size bytes;
// nothing wrong is no mismatch. phase says which call that was.
func Describe(v reference.Verdict, rank int, phase string, elements int64, size int) []result.Mismatch {
	if v.Wrong == 0 {
		return nil
	}
	return []result.Mismatch{{
		Rank: rank, Wrong: v.Wrong, Of: elements, Index: v.First, Phase: phase,
		Want: hexBits(v.Want, size), Got: hexBits(v.Got, size),
	}}
}

// hexBits prints the bits of an element of size bytes.
func hexBits(bits uint64, size int) string { return fmt.Sprintf("0x%0*x", 2*size, bits) }
