package mutants

import (
	"context"
	"errors"
	"fmt"
	"time"

	"gpurun/cudart"
	"gpurun/cudart/sim/check"
	"gpurun/kernels"
	"gpurun/kernels/collective"
	"gpurun/kernels/ptx"
	"gpurun/kernels/reference"
)

// The machine that calls run on: a small one, on which blocks still share work and slots are used again.
const (
	blocks  = 2
	timeout = time.Second // of waits for peers, by the checker's clock
)

// counts are the elements of a part in calls that follow each other: vectors and tails, small after large.
var counts = []int64{601, 40, 600, 7, 520}

// calls are calls of an algorithm, one behind the other without a wait, with other inputs each.
type calls struct {
	collective *collective.Collective
	algorithm  *collective.Algorithm
}

// collectives lists the kernels of all collectives, for some ranks.
func collectives(world int) (all []*subject) {
	for _, c := range kernels.Collectives() {
		for _, a := range c.Algorithms {
			if a.Needs.Library != "" {
				continue
			}
			op := collective.None
			if c.Shape.Reduces {
				op = collective.Sum
			}
			var entries []collective.Kernel
			if k, ok := a.Find(collective.Float, op, collective.NoEpilogue, world, 100); ok {
				entries = append(entries, k)
			}
			for _, k := range append(entries, a.Others...) {
				text, err := ptx.Source(k.Module.Name)
				if err != nil {
					panic(err)
				}
				all = append(all, &subject{
					name: c.Name + " " + a.Name, world: world, module: k.Module.Name, entry: k.Entry, text: text,
					run: calls{c, a}.run,
				})
			}
		}
	}
	return all
}

// call is the call of a number.
func (c calls) call(number, world int, send, recv int64) collective.Call {
	call := collective.Call{
		Send: send, Recv: recv, Count: counts[number], DType: collective.Float, Op: collective.None, Root: number % world,
	}
	if c.collective.Shape.Reduces {
		call.Op = collective.Sum
	}
	if c.collective.Shape.Empty {
		call.Count = 0
	}
	return call
}

func (c calls) input(number, world int) reference.Input {
	call := c.call(number, world, 0, 0)
	return reference.Input{Seed: uint64(number), DType: call.DType, Op: call.Op, World: world}
}

// bytes are the sizes of input and output.
func (c calls) bytes(count int64, world int) (send, recv int64) {
	shape := c.collective.Shape
	return 4 * count * shape.Send.Of(world), 4 * count * shape.Recv.Of(world)
}

// run is the task of a rank.
func (c calls) run(r *check.Rank, source collective.Source) (err error) {
	m, err := c.join(r, source)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.comm.Close()) }()
	var inputs, outputs []cudart.DevicePtr
	for number := range counts {
		in, out, err := m.stage(number)
		if err != nil {
			return err
		}
		inputs, outputs = append(inputs, in), append(outputs, out)
	}
	if err := r.Meet(); err != nil {
		return err
	}
	for number, count := range counts {
		send, recv := c.bytes(count, r.World)
		err := m.stream.Copy(m.comm.Local(m.send), inputs[number], send)
		call := c.call(number, r.World, m.send, m.recv)
		err = errors.Join(err, c.algorithm.Enqueue(m.comm, m.stream, call))
		if err = errors.Join(err, m.stream.Copy(outputs[number], m.comm.Local(m.recv), recv)); err != nil {
			return err
		}
	}
	if err := errors.Join(m.stream.Synchronize(context.Background()), m.comm.Err()); err != nil {
		return err
	}
	for number := range counts {
		if err := m.verify(number, outputs[number]); err != nil {
			return err
		}
	}
	return nil
}

// member is a rank of calls.
type member struct {
	calls
	*check.Rank
	comm       *collective.Comm
	stream     cudart.Stream
	send, recv int64 // offsets of the input and the output
}

// join makes the communicator of a rank, and names its memory.
func (c calls) join(r *check.Rank, source collective.Source) (*member, error) {
	m := &member{calls: c, Rank: r}
	cfg := collective.Config{
		Device: r.Device, Source: source, Rank: r.Number, SMs: r.Device.Info().SMs, MaxBlocks: blocks, Timeout: timeout,
		PacketBytes: collective.PacketAreaBytes(blocks), MailboxBytes: collective.MailboxAreaBytes(blocks),
	}
	at := int64(0)
	var parts []func(base cudart.DevicePtr)
	take := func(name string, bytes int64) int64 {
		begin := at
		at += (bytes + 255) / 256 * 256
		parts = append(parts, func(base cudart.DevicePtr) { r.Name(base+cudart.DevicePtr(begin), bytes, name) })
		return begin
	}
	send, recv := c.bytes(counts[0], r.World)
	take("signal pad", collective.SignalPadBytes)
	cfg.PacketOffset, cfg.MailboxOffset = take("packets", cfg.PacketBytes), take("mailboxes", cfg.MailboxBytes)
	if c.algorithm.ScratchBytes != nil {
		cfg.ScratchOffset = take("scratch", c.algorithm.ScratchBytes(r.World, 4*counts[0]))
	}
	m.send, m.recv = take("input", send), take("output", recv)
	base, err := r.Device.Malloc(at)
	if err != nil {
		return nil, err
	}
	for _, name := range parts {
		name(base)
	}
	if cfg.Peers, err = r.Share(base); err != nil {
		return nil, err
	}
	if m.comm, err = collective.New(cfg); err != nil {
		return nil, err
	}
	m.stream, err = r.Device.NewStream()
	return m, err
}

// stage makes private copies of the input and the output of a call.
func (m *member) stage(number int) (in, out cudart.DevicePtr, err error) {
	send, recv := m.bytes(counts[number], m.World)
	if in, err = m.Device.Malloc(send); err != nil {
		return 0, 0, err
	}
	data := make([]byte, send)
	m.input(number, m.World).Fill(data, m.Number)
	if err := m.stream.Upload(in, data); err != nil {
		return 0, 0, err
	}
	out, err = m.Device.Malloc(recv)
	return in, out, err
}

// verify compares the output of a call with the truth.
func (m *member) verify(number int, at cudart.DevicePtr) error {
	call := m.call(number, m.World, 0, 0)
	_, recv := m.bytes(counts[number], m.World)
	got := make([]byte, recv)
	if err := m.stream.Download(got, at); err != nil {
		return err
	}
	for _, s := range reference.Output(m.collective.Shape, m.Number, m.World, call.Root, call.Count, false) {
		part := got[4*s.At : 4*(s.At+s.Count)]
		in := m.input(number, m.World)
		in.First = s.First
		var v reference.Verdict
		switch s.Source {
		case reference.Reduced:
			v = in.Reduced(part)
		case reference.Copied:
			v = in.From(s.From, part)
		}
		if v.Wrong != 0 {
			return fmt.Errorf("call %d: %w: %d elements, the first is %d", number, errWrong, v.Wrong, v.First)
		}
	}
	return nil
}
