package allreduce

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"gpurun/cudart"
	"gpurun/cudart/sim"
	"gpurun/kernels/collective"
	"gpurun/kernels/ptx"
)

// member is one rank of a group in this process, on a simulated device each or
// all on one GPU. Its symmetric memory has room for two buffers of bufferBytes, at send and recv.
type member struct {
	rank, world int
	device      cudart.Device
	stream      cudart.Stream
	comm        *collective.Comm
	send, recv  int64
	meet        func() // waits for all members
}

const bufferBytes = 1 << 19

// simDevice is what the test needs of the simulator beyond cudart.Device.
type simDevice interface {
	cudart.Device
	ExportFD(ptr cudart.DevicePtr) (*os.File, error)
	ImportFD(f *os.File) (cudart.DevicePtr, error)
}

// runGroup runs story on every rank, each with its own simulated device and
// thread, and fails the test with the errors of all of them.
func runGroup(t *testing.T, world int, timeout time.Duration, story func(m *member) error) {
	t.Helper()
	runGroupOn(t, sim.New(1, sim.Options{}), world, timeout, story)
}

// runGroupOn is runGroup with all ranks on the backend's device 0.
func runGroupOn(t *testing.T, backend cudart.Backend, world int, timeout time.Duration, story func(m *member) error) {
	t.Helper()
	shared := &exchange{files: make([]*os.File, world), pointers: make([]cudart.DevicePtr, world), barrier: newBarrier(world)}
	errs := make([]error, world)
	var wg sync.WaitGroup
	for rank := range world {
		wg.Go(func() {
			defer shared.barrier.leave() // so that nobody waits for a member that failed
			if err := runMember(backend, shared, rank, world, timeout, story); err != nil {
				errs[rank] = fmt.Errorf("rank %d: %w", rank, err)
			}
		})
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

func runMember(b cudart.Backend, x *exchange, rank, world int, timeout time.Duration, story func(m *member) error) (err error) {
	device, err := b.Open(0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, device.Close()) }()
	scratch := int64(0)
	for _, a := range Collective().Algorithms {
		scratch = max(scratch, a.ScratchBytes(world, bufferBytes))
	}
	head := (collective.SignalPadBytes + 255) / 256 * 256
	m := &member{rank: rank, world: world, device: device, meet: x.barrier.wait}
	m.send = head + scratch
	m.recv = m.send + bufferBytes
	peers, err := x.share(device, rank, m.recv+bufferBytes)
	if err != nil {
		return err
	}
	if m.stream, err = device.NewStream(); err != nil {
		return err
	}
	m.comm, err = collective.New(collective.Config{
		Device: device, Source: ptx.Source, Rank: rank, Peers: peers,
		ScratchOffset: head, SMs: multiprocessors(device.Info(), world), Timeout: timeout,
	})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, m.comm.Close()) }()
	if err := m.loadKernels(); err != nil {
		return err
	}
	m.meet()
	return story(m)
}

// multiprocessors is how many a rank may fill. All ranks share a GPU here, and
// the blocks of all of them must be resident at the same time.
func multiprocessors(d cudart.Info, world int) int {
	if d.Backend == "sim" {
		return d.SMs
	}
	return d.SMs / world
}

// loadKernels loads all that a GPU will run. To load a kernel, CUDA may wait
// for those that run in the same process, and those may be waiting for this
// rank to launch. Ranks with a process each do not have this problem.
func (m *member) loadKernels() error {
	if m.device.Info().Backend == "sim" {
		return nil
	}
	for _, a := range Collective().Algorithms {
		for _, d := range a.DTypes {
			for _, entry := range a.Entries {
				if _, err := m.comm.Kernel(a, d, entry); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// synchronize waits for the stream and reports what the kernels have to say.
func (m *member) synchronize() error {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	return errors.Join(m.stream.Synchronize(ctx), m.comm.Err())
}

// exchange passes every rank's memory to the others.
type exchange struct {
	files    []*os.File
	pointers []cudart.DevicePtr
	barrier  *barrier
}

// share allocates memory and maps everybody's. Ranks of one process on one GPU
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

// barrier lets so many goroutines meet again and again; one that leaves is no
// longer waited for.
type barrier struct {
	mu      sync.Mutex
	met     *sync.Cond
	members int
	waiting int
	round   int
}

func newBarrier(members int) *barrier {
	b := &barrier{members: members}
	b.met = sync.NewCond(&b.mu)
	return b
}

func (b *barrier) wait() {
	b.mu.Lock()
	defer b.mu.Unlock()
	round := b.round
	b.waiting++
	b.release()
	for b.round == round {
		b.met.Wait()
	}
}

func (b *barrier) leave() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.members--
	b.release()
}

func (b *barrier) release() {
	if b.waiting >= b.members && b.waiting > 0 {
		b.waiting = 0
		b.round++
		b.met.Broadcast()
	}
}
