// Package checktask makes the host code of ranks for the race checker, cudart/sim/check: calls of an algorithm, one
// behind the other without a wait of the host. Calls reuse the memory of earlier calls, so that a call that does not
// wait for its peers races with the next one. The results of all calls are compared with package reference.
//
// The files:
//
//	calls      what is called, and the order of a rank's work
//	launches   calls that are launched early, or by a graph
//	counts     how many elements the calls have
//	order      the order of calls of several sizes
//	layout     where buffers lie in symmetric memory
//	data       collectives: inputs and expected outputs
//	token      barriers, which move no data
//	absent     calls that fail, because a rank never comes
//	custom     kernel files with inputs and outputs of their own
//	finding    a wrong result as a finding
//	products   products of matrices: what is called, and the order of a rank's work
//	matrices   where the matrices of products lie
//	multiplier a rank of products: its calls, and what is compared
package checktask

import (
	"context"
	"errors"
	"slices"
	"time"

	"gpurun/cudart"
	"gpurun/cudart/sim/check"
	"gpurun/kernels/collective"
	"gpurun/kernels/ptx"
)

// Calls are calls of an algorithm: so many of each count, in one stream, small behind large and large behind small. The
// zero values of optional fields stand for what their comments say.
type Calls struct {
	Algorithm *collective.Algorithm
	// Others make every other call, in turn, if there are any: algorithms of the same collective without Areas, as a job
	// has them whose calls are of several sizes. They share epochs, flags, packets and mailboxes.
	Others    []*collective.Algorithm
	Shape     collective.Shape
	DType     collective.DType
	Op        collective.Op
	Root      int
	Counts    []int64           // elements of a part
	Launches  int               // calls of each count, one behind the other
	InPlace   bool              // input and output share a buffer
	Skew      int64             // bytes from an aligned place to the input, and to the output
	MaxBlocks int               // bound of every grid; 0: none
	Source    collective.Source // of modules by name; nil: those of gpurun
	Seed      uint64            // of the inputs
	// PDL uses programmatic dependent launch for kernels that support it. Calls out of place are then made
	// twice, one right behind the other, so that they overlap.
	PDL      bool
	Replayed bool // the calls are captured, and the graph is replayed twice, with other inputs each time
}

// timeout bounds a wait of a kernel for a peer, in the time of the checker's clock.
const timeout = 30 * time.Second

// rank is a rank that makes the calls.
type rank struct {
	*Calls
	*check.Rank
	comm    *collective.Comm
	stream  cudart.Stream
	layout  layout
	timeout time.Duration // of a wait of a kernel for a peer
}

// exchange is what calls move: data, tokens, or the buffers of a kernel file.
type exchange interface {
	// prepare makes the inputs of all calls.
	prepare() error
	// enqueue puts a call on the stream: its input, the call itself, and a copy of its output.
	enqueue(call int) error
	// betweenReplays copies, between two replays of a graph, the outputs of the first to where they are kept, and the
	// inputs of the second to where the graph has those of the first.
	betweenReplays() error
	// compare compares the outputs of all calls, which have ended.
	compare() error
}

// Task is what a rank does. Its wrong results are findings of the run.
func (c *Calls) Task(on *check.Rank) (err error) {
	r := &rank{Calls: c, Rank: on, timeout: timeout}
	if err := r.join(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.comm.Close()) }()
	if r.stream, err = on.Device.NewStream(); err != nil {
		return err
	}
	x := r.exchange()
	if err := errors.Join(r.load(), x.prepare()); err != nil {
		return err
	}
	if err := r.stream.Synchronize(context.Background()); err != nil {
		return err
	}
	// Peers signal and write here from now on.
	if err := on.Meet(); err != nil {
		return err
	}
	if err := r.enqueue(x); err != nil {
		return err
	}
	if err := errors.Join(r.stream.Synchronize(context.Background()), r.comm.Err()); err != nil {
		return err
	}
	// Peers may still read here, so that all have to come before one ends.
	return errors.Join(x.compare(), r.compareRestored(), on.Meet())
}

func (r *rank) exchange() exchange {
	switch {
	case r.Shape.Empty:
		return &tokens{rank: r}
	case r.Algorithm.Custom != nil:
		return &custom{rank: r}
	}
	return &data{rank: r}
}

// replays is how often a graph of the calls is replayed.
const replays = 2

// enqueued is the number of calls that are enqueued or captured, and total that of all calls.
func (c *Calls) enqueued() int { return len(c.Counts) * c.Launches }

func (c *Calls) total() int {
	if c.Replayed {
		return replays * c.enqueued()
	}
	return c.enqueued()
}

// place is the number of the call in whose place the output of a call is in the end: a graph leaves the outputs of the
// last replay in those of the first.
func (c *Calls) place(number int) int { return (number + c.total() - c.enqueued()) % c.total() }

// algorithms are those that make the calls.
func (c *Calls) algorithms() []*collective.Algorithm {
	return append([]*collective.Algorithm{c.Algorithm}, c.Others...)
}

// algorithm makes the call of a number.
func (c *Calls) algorithm(number int) *collective.Algorithm {
	if number %= c.enqueued(); number%2 == 1 && len(c.Others) > 0 {
		return c.Others[number/2%len(c.Others)]
	}
	return c.Algorithm
}

// needs reports whether some algorithm has a need.
func (c *Calls) needs(has func(collective.Needs) bool) bool {
	return slices.ContainsFunc(c.algorithms(), func(a *collective.Algorithm) bool { return has(a.Needs) })
}

// count is that of a call's elements.
func (c *Calls) count(call int) int64 {
	return c.Counts[sizeOfCall(call%c.enqueued(), len(c.Counts), c.Launches)]
}

func (c *Calls) largest() (most int64) {
	for _, n := range c.Counts {
		most = max(most, n)
	}
	return most
}

// call is a call of a number, on a rank.
func (r *rank) call(number int) collective.Call {
	call := r.callOf(r.count(number))
	call.Send, call.Recv = r.layout.input, r.layout.output
	if r.InPlace {
		send, recv, step, _ := r.Shape.InPlace(r.Number)
		part := call.Bytes()
		call.Send, call.Recv, call.SendStep = r.layout.output+send*part, r.layout.output+recv*part, step*part
	}
	return call
}

// Call is the call of a number without its buffers.
func (c *Calls) Call(number int) collective.Call { return c.callOf(c.count(number)) }

// callOf is a call without its buffers.
func (c *Calls) callOf(count int64) collective.Call {
	return collective.Call{Count: count, DType: c.DType, Op: c.Op, Root: c.Root, InPlace: c.InPlace}
}

// join makes the communicator.
func (r *rank) join() (err error) {
	info := r.Device.Info()
	if r.layout, err = r.layOut(r.World, info.SMs); err != nil {
		return err
	}
	base, err := r.Device.Malloc(r.layout.total)
	if err != nil {
		return err
	}
	r.layout.name(r.Rank, base)
	peers, err := r.Share(base)
	if err != nil {
		return err
	}
	source := r.Source
	if source == nil {
		source = ptx.Source
	}
	var multicast cudart.DevicePtr
	if r.needs(func(n collective.Needs) bool { return n.Multicast }) {
		if multicast, err = r.Multicast(peers); err != nil {
			return err
		}
	}
	l := &r.layout
	r.comm, err = collective.New(collective.Config{
		Device: r.Device, Source: source, Rank: r.Number, Peers: peers, Multicast: multicast,
		SMs: info.SMs, MaxBlocks: r.MaxBlocks, PDL: r.PDL, Timeout: r.timeout,
		Areas:        map[any][]collective.PlacedArea{r.Algorithm: l.areas},
		PacketOffset: l.packets, PacketBytes: l.packetBytes, MailboxOffset: l.mailboxes, MailboxBytes: l.mailboxBytes,
		ScratchOffset: l.scratch,
	})
	return err
}

// load loads the kernels of all calls, and initializes areas.
func (r *rank) load() error {
	for i := range r.Counts {
		call := r.call(i * min(repeats, r.Launches))
		for _, a := range r.algorithms() {
			if err := r.comm.Prepare(r.stream, a, call); err != nil {
				return err
			}
		}
	}
	return nil
}
