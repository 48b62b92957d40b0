package conformance

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"gpurun/cudart"
	"gpurun/cudart/sim"
	"gpurun/kernels"
	"gpurun/kernels/collective"
)

// member is one rank of a group in this process. Each rank has a simulated device of its own, or all share one GPU. Its
// symmetric memory has buffers of the group's `bytes` at send, recv and extra; extra has three.
type member struct {
	rank, world       int
	bytes             int64
	device            cudart.Device
	stream            cudart.Stream
	comm              *collective.Comm
	send, recv, extra int64
	meet              func() // waits for all members
	quantities        *sharedQuantities
	verdicts          *sharedVerdicts
	input             keptInput
	clock             *sim.Clock // of a simulated device
}

// simDevice is what the test needs of the simulator beyond cudart.Device.
type simDevice interface {
	cudart.Device
	ExportFD(ptr cudart.DevicePtr) (*os.File, error)
	ImportFD(f *os.File) (cudart.DevicePtr, error)
	Multicast(members []cudart.DevicePtr) (cudart.DevicePtr, error)
}

const (
	bufferBytes = 1 << 19
	waitTimeout = 30 * time.Second
)

// group describes the ranks of a test.
type group struct {
	world   int
	bytes   int64          // of a buffer; 0 is bufferBytes
	timeout time.Duration  // of a wait in a kernel; 0 is waitTimeout
	backend cudart.Backend // all ranks run on its device 0; nil is a simulator for each
	// blocks bounds grids; 0 is as many as the device has multiprocessors.
	blocks int
	// areaOf bounds the bytes of the call that areas are made for; 0: bytes.
	areaOf int64
	pdl    bool
	source collective.Source // of the kernels; nil is those of the catalog
	// noPeers keeps the send and receive buffers out of the peers' sight: only
	// what comes before them is shared.
	noPeers bool
}

// run runs task on every rank, each in a thread of its own, and fails the test with the errors of all of them.
func (g group) run(t testing.TB, task func(m *member) error) {
	t.Helper()
	g = g.complete()
	shared := newExchange(g.world)
	errs := make([]error, g.world)
	var wg sync.WaitGroup
	for rank := range g.world {
		wg.Go(func() {
			defer shared.barrier.leave() // so that no member waits for one that failed
			if err := g.runMember(shared, rank, task); err != nil {
				errs[rank] = fmt.Errorf("rank %d: %w", rank, err)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// complete sets the fields that the test has not set.
func (g group) complete() group {
	if g.bytes == 0 {
		g.bytes = bufferBytes
	}
	if g.timeout == 0 {
		g.timeout = waitTimeout
	}
	if g.source == nil {
		g.source = catalog
	}
	if g.backend == nil {
		g.backend = sim.New(1, sim.Options{})
	}
	// Over NVLink it was not measured which vector accesses are whole: no kernel may depend on any.
	if b, ok := g.backend.(*sim.Backend); ok {
		g.backend = b.WithMemory(sim.PTXMemory)
	}
	return g
}

func (g group) runMember(x *exchange, rank int, task func(m *member) error) (err error) {
	defer x.clock.Pause() // for ever
	b, simulated := g.backend.(*sim.Backend)
	if simulated {
		g.backend = b.WithClock(x.clock)
	}
	device, err := g.backend.Open(0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, device.Close()) }()
	m, err := g.join(x, rank, device)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.comm.Close()) }()
	if simulated {
		m.clock = x.clock
	}
	m.meet()
	return task(m)
}

// join makes a rank on an open device. The caller closes the Comm.
func (g group) join(x *exchange, rank int, device cudart.Device) (m *member, err error) {
	m = &member{
		rank: rank, world: g.world, bytes: g.bytes, device: device, meet: x.barrier.wait, quantities: &x.quantities,
		verdicts: &x.verdicts,
	}
	cfg := collective.Config{
		Device: device, Source: g.source, Rank: rank, Timeout: g.timeout, PDL: g.pdl,
		SMs: multiprocessors(device.Info(), g.world), MaxBlocks: g.blocks,
	}
	cfg.BriefBytes = g.bytes / 8 // so that there are launches of both kinds
	shared := m.layOut(&cfg, g.areaOf)
	if cfg.Peers, err = x.share(device, rank, shared); err != nil {
		return nil, err
	}
	if g.noPeers {
		if err := m.hideBuffers(cfg.Peers[rank]); err != nil {
			return nil, err
		}
	}
	if d, ok := device.(simDevice); ok && !g.noPeers && device.Info().Major >= 9 {
		if cfg.Multicast, err = d.Multicast(cfg.Peers); err != nil {
			return nil, err
		}
	}
	if m.stream, err = device.NewStream(); err != nil {
		return nil, err
	}
	if m.comm, err = collective.New(cfg); err != nil {
		return nil, err
	}
	if err := m.loadKernels(); err != nil {
		return nil, errors.Join(err, m.comm.Close())
	}
	return m, nil
}

// layOut sets the offsets of everything in the symmetric memory, and returns its size. Areas are made for a call of so
// many bytes; 0: of the member's.
func (m *member) layOut(cfg *collective.Config, areaOf int64) int64 {
	scratch := int64(0)
	for _, a := range algorithms() {
		if a.ScratchBytes != nil {
			scratch = max(scratch, a.ScratchBytes(m.world, m.bytes))
		}
	}
	at := int64(0)
	take := func(bytes int64) int64 {
		begin := at
		at += (bytes + 255) / 256 * 256
		return begin
	}
	take(collective.SignalPadBytes)
	cfg.PacketBytes = collective.PacketAreaBytes(cfg.SMs)
	cfg.PacketOffset = take(cfg.PacketBytes)
	cfg.MailboxBytes = collective.MailboxAreaBytes(cfg.SMs)
	cfg.MailboxOffset = take(cfg.MailboxBytes)
	cfg.ScratchOffset = take(scratch)
	cfg.Areas = map[any][]collective.PlacedArea{}
	for _, a := range algorithms() {
		for _, area := range areasOf(a, m.world, cfg.SMs, cmp.Or(areaOf, m.bytes)) {
			cfg.Areas[a] = append(cfg.Areas[a], collective.PlacedArea{Area: area, Offset: take(area.Bytes)})
		}
	}
	m.send, m.recv, m.extra = take(m.bytes), take(m.bytes), take(3*m.bytes)
	return at
}

// areasOf lists what the algorithm keeps from call to call, for calls of so many bytes.
func areasOf(a *collective.Algorithm, world, sms int, bytes int64) []collective.Area {
	if a.Areas == nil {
		return nil
	}
	largest := collective.Call{Count: bytes / int64(collective.Float.Size), DType: collective.Float, Op: collective.Sum}
	areas, err := a.Areas(world, sms, largest)
	if err != nil {
		panic(err) // the sizes of gpurun's own areas are always known
	}
	return areas
}

// hideBuffers moves the buffers to memory that only this rank maps.
func (m *member) hideBuffers(base cudart.DevicePtr) error {
	own, err := m.device.Malloc(5 * m.bytes)
	if err != nil {
		return err
	}
	m.send = int64(own) - int64(base)
	m.recv = m.send + m.bytes
	m.extra = m.recv + m.bytes
	return nil
}

// multiprocessors is the number of multiprocessors that a rank may use. If all ranks share a GPU, the blocks of all of
// them must be resident at the same time.
func multiprocessors(d cudart.Info, world int) int {
	if d.Backend == "sim" {
		return d.SMs
	}
	return d.SMs / world
}

// loadKernels loads all kernels that a GPU will run. To load a kernel, CUDA may wait for running kernels of the
// process, and these may wait for this rank to launch. Ranks in processes of their own do not have this problem.
func (m *member) loadKernels() error {
	if m.device.Info().Backend == "sim" {
		return nil
	}
	for _, a := range algorithms() {
		for _, k := range slices.Concat(a.Kernels, a.Others) {
			if !k.Module.Arch.RunsOn(m.comm.SM()) || a.Needs.Multicast {
				continue
			}
			loaded, err := m.comm.Load(k)
			if err != nil {
				return err
			}
			if err := m.stream.Prepare(loaded); err != nil {
				return err
			}
		}
	}
	return nil
}

// algorithms lists all algorithms of the catalog except those of libraries.
func algorithms() []*collective.Algorithm {
	var all []*collective.Algorithm
	for _, c := range kernels.Collectives() {
		all = append(all, c.Algorithms...)
	}
	return slices.DeleteFunc(all, func(a *collective.Algorithm) bool { return a.Needs.Library != "" })
}

// synchronize waits for the stream, and returns the error that the kernels have reported.
func (m *member) synchronize() error {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	return errors.Join(m.stream.Synchronize(ctx), m.comm.Err())
}

// exchange passes every rank's memory to the others.
type exchange struct {
	files    []*os.File
	pointers []cudart.DevicePtr
	barrier  *cyclicBarrier
	clock    *sim.Clock
	// quantities belongs to the verification of products, which all ranks would compute alike.
	quantities sharedQuantities
	verdicts   sharedVerdicts
}

func newExchange(world int) *exchange {
	clock := sim.NewClock(world)
	return &exchange{
		files: make([]*os.File, world), pointers: make([]cudart.DevicePtr, world), clock: clock,
		barrier: newCyclicBarrier(world, clock),
	}
}

// share allocates a rank's memory, and returns the memory of all ranks as mapped here. Ranks of one process on one GPU
// have one address space; simulated devices always have their own.
func (x *exchange) share(device cudart.Device, rank int, bytes int64) ([]cudart.DevicePtr, error) {
	own, err := device.Malloc(bytes)
	if err != nil {
		return nil, err
	}
	d, simulated := device.(simDevice)
	if !simulated {
		x.pointers[rank] = own
		x.barrier.wait()
		return x.pointers, nil
	}
	if x.files[rank], err = d.ExportFD(own); err != nil {
		return nil, err
	}
	x.barrier.wait()
	peers := make([]cudart.DevicePtr, len(x.files))
	for r, f := range x.files {
		if r == rank {
			peers[r] = own
			continue
		}
		if f == nil {
			return nil, fmt.Errorf("rank %d shared nothing", r)
		}
		if peers[r], err = d.ImportFD(f); err != nil {
			return nil, err
		}
	}
	x.barrier.wait()
	return peers, x.files[rank].Close()
}

// cyclicBarrier is a barrier of goroutines that can be used again. It does not wait for goroutines that
// have left.
type cyclicBarrier struct {
	mu      sync.Mutex
	met     *sync.Cond
	members int
	waiting int
	round   int
	clock   *sim.Clock
}

func newCyclicBarrier(members int, clock *sim.Clock) *cyclicBarrier {
	b := &cyclicBarrier{members: members, clock: clock}
	b.met = sync.NewCond(&b.mu)
	return b
}

func (b *cyclicBarrier) wait() {
	b.mu.Lock()
	defer b.mu.Unlock()
	round := b.round
	b.waiting++
	b.release(1)
	if b.round == round {
		b.clock.Pause()
	}
	for b.round == round {
		b.met.Wait()
	}
}

func (b *cyclicBarrier) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.members--
	b.release(0)
}

// release lets all members go on if all have come. So many of them have not stopped the clock.
func (b *cyclicBarrier) release(running int) {
	if b.waiting >= b.members && b.waiting > 0 {
		b.clock.Resume(b.waiting - running)
		b.waiting = 0
		b.round++
		b.met.Broadcast()
	}
}
