package workload

import (
	"fmt"
	"strings"
	"time"

	"gpurun/kernels/collective"
	"gpurun/kernels/reference"
)

// Case is one measurement to make.
type Case struct {
	Algorithm      *collective.Algorithm
	Shape          collective.Shape
	world          int
	Call           collective.Call // see Layout.Place
	InPlace        bool
	OutOfPlaceOnly bool   // the call cannot run in place
	Why            string // the reason for the choice of the algorithm
	Requested      string // the job's word for the algorithm, if it is not its name: "auto"
	// RequestedBytes is the size that the job asks for. Parts are cut to whole elements and vectors, so that Bytes may be
	// less; and rounded up for kernel files, so that it may be more.
	RequestedBytes int64
}

// newCases are a call out of place and one in place, where both are possible.
func newCases(s collective.Shape, world int, chosen choice) []Case {
	c := Case{
		Algorithm: chosen.algorithm, Shape: s, world: world, Call: chosen.call, Why: chosen.why,
		RequestedBytes: chosen.request.bytes,
	}
	if chosen.request.algorithm != c.Algorithm.Name {
		c.Requested = chosen.request.algorithm
	}
	if _, _, _, ok := s.InPlace(0); !ok || c.Algorithm.Needs.SeparateOutput {
		c.OutOfPlaceOnly = true
		return []Case{c}
	}
	inPlace := c
	inPlace.InPlace = true
	if c.Algorithm.Needs.OneBuffer {
		return []Case{inPlace}
	}
	return []Case{c, inPlace}
}

// sendBytes and RecvBytes are the sizes of a rank's input and output.
func (c Case) sendBytes() int64 { return c.Call.Bytes() * c.Shape.Send.Of(c.world) }
func (c Case) RecvBytes() int64 { return c.Call.Bytes() * c.Shape.Recv.Of(c.world) }

// Bytes is the size of the larger of a rank's buffers.
func (c Case) Bytes() int64 { return max(c.sendBytes(), c.RecvBytes()) }

// SendCount and RecvCount are the elements of a rank's input and output.
func (c Case) SendCount() int64 { return c.Call.Count * c.Shape.Send.Of(c.world) }
func (c Case) RecvCount() int64 { return c.Call.Count * c.Shape.Recv.Of(c.world) }

// OutputBytes is the size of what is verified of a rank's output: 0 if the rank has no
// output, and the tokens of a barrier.
func (c Case) OutputBytes(rank int) int64 {
	switch {
	case c.Shape.Empty:
		return TokenBytes * int64(c.world)
	case !c.Shape.Receives(rank, c.Call.Root):
		return 0
	}
	return c.RecvBytes()
}

// Output is what a rank's output must be.
func (c Case) Output(rank int) []reference.Segment {
	return reference.Output(c.Shape, rank, c.world, c.Call.Root, c.Call.Count, c.InPlace)
}

// String reads "allreduce oneshot float sum, 4096 bytes in place".
func (c Case) String() string {
	words := []string{c.Algorithm.Collective, c.Algorithm.Name}
	if c.Shape.Empty {
		return strings.Join(words, " ")
	}
	words = append(words, c.Call.DType.Name, string(c.Call.Op))
	if e := c.Call.Epilogue.Kind; e != collective.NoEpilogue {
		words = append(words, string(e))
	}
	place := "out of place"
	if c.InPlace {
		place = "in place"
	}
	return fmt.Sprintf("%s, %d bytes %s", strings.Join(words, " "), c.Bytes(), place)
}

// verifyingSpeed is how many bytes of one rank's input the reference works through
// in a second on a slow machine, or less.
const verifyingSpeed = 4 << 20

// Verifying bounds how much longer a rank may take than another to verify the case.
func (c Case) Verifying() time.Duration {
	return time.Duration(c.Bytes()/verifyingSpeed*int64(c.world)) * time.Second
}

// Task is equal for cases that differ in algorithm and blocks alone.
func (c Case) Task() string {
	return fmt.Sprintln(c.Call.DType.Name, c.Call.Op, c.Bytes(), c.InPlace)
}
