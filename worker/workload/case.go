package workload

import (
	"fmt"
	"strings"

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
	OutOfPlaceOnly bool   // out of place, and it cannot run in place
	Why            string // the algorithm was chosen
	Requested      string // what the job asks for, if that is not the algorithm
	// RequestedBytes is the size that the job asks for. Parts are cut to whole elements
	// and vectors, so that Bytes may be less.
	RequestedBytes int64
}

// newCases are a call out of place and, where that can be, in place.
func newCases(s collective.Shape, world int, chosen choice) []Case {
	c := Case{Algorithm: chosen.algorithm, Shape: s, world: world, Call: chosen.call, Why: chosen.why, RequestedBytes: chosen.request.bytes}
	if chosen.request.algorithm != c.Algorithm.Name {
		c.Requested = chosen.request.algorithm
	}
	if _, _, _, ok := s.InPlace(0); !ok || c.Algorithm.Needs.SeparateOutput {
		c.OutOfPlaceOnly = true
		return []Case{c}
	}
	inPlace := c
	inPlace.InPlace = true
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

// OutputBytes is the size of what a rank's output is judged by: 0 where it has
// none, and its tokens for a barrier.
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

// Task is what cases have in common that differ in algorithm and blocks alone.
func (c Case) Task() string {
	return fmt.Sprintln(c.Call.DType.Name, c.Call.Op, c.Bytes(), c.InPlace)
}
