// Package verify has what the verification of all kinds of calls shares: it passes memory
// through the host, injects faults, and describes what is wrong.
package verify

import (
	"errors"
	"fmt"

	"gpurun/kernels/reference"
	"gpurun/worker/result"
)

// Poison fills an output before a call: elements that the call did not write are then seen.
// As a float of any type a poisoned element is not a number. As an integer it is -1 or the
// largest, which a result is now and then, but not everywhere.
const Poison = 0xff

// ErrInputChanged is wrong data of another kind than a wrong result.
var ErrInputChanged = errors.New("the call changed its input, which it must only read out of place")

// ErrCorruptionMissed is a verification that proves nothing.
var ErrCorruptionMissed = errors.New("corruption was injected and not found: this is a bug in gpurun's verification")

// ErrCheckWrong is a check by a kernel that proves nothing.
var ErrCheckWrong = errors.New("the kernel that checks results of this size is wrong itself, " +
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
