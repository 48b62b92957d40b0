package conformance

import (
	"bytes"
	"fmt"

	"gpurun/kernels"
	"gpurun/kernels/collective"
	"gpurun/kernels/reference"
)

// guard surrounds every output; it must stay as it was. Between guards, an
// output begins as poison.
const (
	guardBytes = 64
	guardByte  = 0xa5
)

// testCall is one call with its inputs.
type testCall struct {
	collective *collective.Collective
	algorithm  *collective.Algorithm
	in         reference.Input
	count      int64 // elements of a part
	root       int
	inPlace    bool
	offset     int64 // of the buffers from 16-byte alignment
	shift      int64 // of the input beyond that, out of place
	// epilogue says what to do to the sums; call says where what it needs is.
	epilogue collective.Epilogue
}

func (c testCall) String() string {
	return fmt.Sprintf("%s %s %s %s%s, %d ranks, root %d, %d elements, in place %t, offset %d+%d, pattern %d, seed %d",
		c.algorithm.Collective, c.algorithm.Name, c.in.Op, c.in.DType.Name, c.epilogueWords(), c.in.World, c.root, c.count,
		c.inPlace, c.offset, c.shift,
		c.in.Pattern, c.in.Seed)
}

// calls lists a call of every algorithm of gpurun's own that moves data and that keep accepts. The caller completes
// them.
func calls(world int, keep func(a *collective.Algorithm) bool) []testCall {
	var all []testCall
	for _, c := range kernels.Collectives() {
		for _, a := range c.Algorithms {
			if c.Shape.Empty || a.Needs.Library != "" || keep != nil && !keep(a) {
				continue
			}
			call := testCall{collective: c, algorithm: a, root: world / 2}
			call.in = reference.Input{
				World: world, DType: collective.Float, Op: collective.None, Chain: a.Chain, Ordered: a.AddsInOrder(),
			}
			if c.Shape.Reduces {
				call.in.Op = collective.Sum
			}
			all = append(all, call)
		}
	}
	return all
}

func (c testCall) partBytes() int64 { return c.count * int64(c.in.DType.Size) }

func (c testCall) sendBytes() int64 { return c.partBytes() * c.collective.Shape.Send.Of(c.in.World) }

func (c testCall) recvBytes() int64 { return c.partBytes() * c.collective.Shape.Recv.Of(c.in.World) }

// canRunInPlace reports whether the collective and the algorithm can.
func (c testCall) canRunInPlace() bool {
	_, _, _, ok := c.collective.Shape.InPlace(0)
	return ok && !c.algorithm.Needs.SeparateOutput
}

// call is the call with the buffers of a member.
func (c testCall) call(m *member) collective.Call {
	call := collective.Call{
		Send: m.send + guardBytes + c.offset + c.shift, Recv: m.recv + guardBytes + c.offset,
		Count: c.count, DType: c.in.DType, Op: c.in.Op, Root: c.root, Epilogue: c.placedEpilogue(m),
	}
	if c.inPlace {
		send, recv, step, _ := c.collective.Shape.InPlace(m.rank)
		base := call.Recv
		call.Send, call.Recv, call.SendStep = base+send*c.partBytes(), base+recv*c.partBytes(), step*c.partBytes()
	}
	return call
}

// whole is the begin and the size of the bytes between the guards of a call: the output, or in place the larger of the
// two buffers.
func (c testCall) whole(m *member) (begin, size int64) {
	if c.inPlace {
		return m.recv + guardBytes + c.offset, max(c.sendBytes(), c.recvBytes())
	}
	return c.call(m).Recv, c.recvBytes()
}

// fill writes the input, and poisons the output and the guards.
func (c testCall) fill(m *member) error {
	begin, size := c.whole(m)
	around := bytes.Repeat([]byte{guardByte}, int(size+2*guardBytes))
	if err := m.stream.Upload(m.comm.Local(begin-guardBytes), around); err != nil {
		return err
	}
	if err := c.fillEpilogue(m); err != nil || c.count == 0 {
		return err
	}
	return m.stream.Upload(m.comm.Local(c.call(m).Send), c.inputOf(m))
}

func (c testCall) input(rank int) []byte {
	input := make([]byte, c.sendBytes())
	c.in.Fill(input, rank)
	return input
}

// check compares the output with the reference and returns it.
func (c testCall) check(m *member) ([]byte, error) {
	begin, size := c.whole(m)
	around := make([]byte, size+2*guardBytes)
	if err := m.stream.Download(around, m.comm.Local(begin-guardBytes)); err != nil {
		return nil, err
	}
	at := guardBytes + c.call(m).Recv - begin
	output := around[at : at+c.recvBytes()]
	if err := c.compare(m, output); err != nil {
		return nil, err
	}
	guard := bytes.Repeat([]byte{guardByte}, guardBytes)
	if !bytes.Equal(around[:guardBytes], guard) || !bytes.Equal(around[guardBytes+size:], guard) {
		return nil, fmt.Errorf("%s: bytes around the output changed", c)
	}
	if err := c.checkResidualOut(m); err != nil {
		return nil, err
	}
	return output, c.inputIsIntact(m)
}

// compare verifies every element of a rank's output.
func (c testCall) compare(m *member, output []byte) error {
	for _, s := range reference.Output(c.collective.Shape, m.rank, c.in.World, c.root, c.count, c.inPlace) {
		size := int64(c.in.DType.Size)
		got := output[s.At*size : (s.At+s.Count)*size]
		if s.Source == reference.Untouched {
			if want := bytes.Repeat([]byte{guardByte}, len(got)); !bytes.Equal(got, want) {
				return fmt.Errorf("%s: the output changed, which is not this rank's to have", c)
			}
			continue
		}
		v := c.judge(m, s, got)
		if v.Wrong != 0 {
			return fmt.Errorf("%s: %d wrong, first %d: want %#x, got %#x", c, v.Wrong, v.First, v.Want, v.Got)
		}
	}
	return nil
}

// inputIsIntact returns an error if a call out of place wrote to its input.
func (c testCall) inputIsIntact(m *member) error {
	if c.inPlace || c.count == 0 {
		return nil
	}
	got := make([]byte, c.sendBytes())
	if err := m.stream.Download(got, m.comm.Local(c.call(m).Send)); err != nil {
		return err
	}
	if !bytes.Equal(got, c.inputOf(m)) {
		return fmt.Errorf("%s: the input changed", c)
	}
	return nil
}

func (c testCall) enqueue(m *member) error {
	return c.algorithm.Enqueue(m.comm, m.stream, c.call(m))
}

func (c testCall) run(m *member) ([]byte, error) {
	if err := c.fill(m); err != nil {
		return nil, err
	}
	if err := c.enqueue(m); err != nil {
		return nil, err
	}
	if err := m.synchronize(); err != nil {
		return nil, fmt.Errorf("%s: %w", c, err)
	}
	return c.check(m)
}
