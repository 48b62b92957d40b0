package worker

import (
	"fmt"
	"strings"

	"gpurun/kernels/collective"
	"gpurun/kernels/reference"
)

// testCase is one measurement to make.
type testCase struct {
	algorithm *collective.Algorithm
	shape     collective.Shape
	world     int
	call      collective.Call // see layout.place
	inPlace   bool
	alone     bool   // out of place, and it cannot run in place
	why       string // the algorithm was chosen
	asked     string // what the job asks for, if that is not the algorithm
	// askedBytes is the size that the job asks for. Parts are cut to whole elements
	// and vectors, so that bytes may be less.
	askedBytes int64
}

// newCases are a call out of place and, where that can be, in place.
func newCases(s collective.Shape, world int, chosen choice) []testCase {
	c := testCase{algorithm: chosen.algorithm, shape: s, world: world, call: chosen.call, why: chosen.why, askedBytes: chosen.asked.bytes}
	if chosen.asked.algorithm != c.algorithm.Name {
		c.asked = chosen.asked.algorithm
	}
	if _, _, _, ok := s.InPlace(0); !ok || c.algorithm.Needs.SeparateOutput {
		c.alone = true
		return []testCase{c}
	}
	inPlace := c
	inPlace.inPlace = true
	return []testCase{c, inPlace}
}

func (c testCase) sendBytes() int64 { return c.call.Bytes() * c.shape.Send.Of(c.world) }
func (c testCase) recvBytes() int64 { return c.call.Bytes() * c.shape.Recv.Of(c.world) }

// bytes is the size of the larger of a rank's buffers.
func (c testCase) bytes() int64 { return max(c.sendBytes(), c.recvBytes()) }

// sendCount and recvCount are the elements of a rank's input and output.
func (c testCase) sendCount() int64 { return c.call.Count * c.shape.Send.Of(c.world) }
func (c testCase) recvCount() int64 { return c.call.Count * c.shape.Recv.Of(c.world) }

// outputBytes is the size of what a rank's output is judged by: 0 where it has
// none, and its tokens for a barrier.
func (c testCase) outputBytes(rank int) int64 {
	switch {
	case c.shape.Empty:
		return tokenBytes * int64(c.world)
	case c.shape.Rooted && c.shape.Reduces && rank != c.call.Root:
		return 0
	}
	return c.recvBytes()
}

// output is what a rank's output must be.
func (c testCase) output(rank int) []reference.Segment {
	return reference.Output(c.algorithm.Collective, rank, c.world, c.call.Root, c.call.Count)
}

// String reads "allreduce oneshot float sum, 4096 bytes in place".
func (c testCase) String() string {
	words := []string{c.algorithm.Collective, c.algorithm.Name}
	if c.shape.Empty {
		return strings.Join(words, " ")
	}
	words = append(words, c.call.DType.Name, string(c.call.Op))
	if e := c.call.Epilogue.Kind; e != collective.NoEpilogue {
		words = append(words, string(e))
	}
	place := "out of place"
	if c.inPlace {
		place = "in place"
	}
	return fmt.Sprintf("%s, %d bytes %s", strings.Join(words, " "), c.bytes(), place)
}

// task is what cases have in common that differ in algorithm and blocks alone.
func (c testCase) task() string {
	return fmt.Sprintln(c.call.DType.Name, c.call.Op, c.bytes(), c.inPlace)
}

func (c testCase) words() string { return c.call.DType.Name + " " + string(c.call.Op) }

// sameContestant reports whether two cases of a group would be measured twice.
func (c testCase) sameContestant(other testCase) bool {
	return c.algorithm.Name == other.algorithm.Name && c.asked == other.asked && c.call.Blocks == other.call.Blocks
}
