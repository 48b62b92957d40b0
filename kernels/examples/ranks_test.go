package examples

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
)

// rank is one rank of a group in this process, with a simulated device of its own.
type rank struct {
	rank, world int
	device      sharingDevice
	stream      cudart.Stream
	// buffers are the addresses of all ranks' symmetric buffers, in the order of ranks.
	buffers map[string][]cudart.DevicePtr
	meet    func() // waits for all ranks
}

// sharingDevice is what the test needs of the simulator beyond cudart.Device.
type sharingDevice interface {
	cudart.Device
	ExportFD(ptr cudart.DevicePtr) (*os.File, error)
	ImportFD(f *os.File) (cudart.DevicePtr, error)
}

// buffer is symmetric memory. Its bytes are zero at first if it has signals; otherwise they are poison.
type buffer struct {
	name  string
	bytes int64
	zero  bool
}

const poison = 0xff

// runRanks runs a task on every rank, each in a thread of its own.
func runRanks(t *testing.T, backend cudart.Backend, world int, buffers []buffer, task func(r *rank) error) {
	t.Helper()
	group := &group{left: world, files: map[string][]*os.File{}}
	group.met = sync.NewCond(&group.mu)
	for _, b := range buffers {
		group.files[b.name] = make([]*os.File, world)
	}
	errs := make([]error, world)
	var all sync.WaitGroup
	for i := range world {
		all.Go(func() {
			defer group.leave()
			if err := group.run(backend, i, world, buffers, task); err != nil {
				errs[i] = fmt.Errorf("rank %d: %w", i, err)
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
}

// group is what the ranks share: a barrier, which does not wait for ranks that have left, and handles of memory.
type group struct {
	mu      sync.Mutex
	met     *sync.Cond
	waiting int
	left    int // ranks that have not left
	round   int
	files   map[string][]*os.File
}

func (g *group) meet() {
	g.mu.Lock()
	defer g.mu.Unlock()
	round := g.round
	g.waiting++
	g.release()
	for g.round == round {
		g.met.Wait()
	}
}

func (g *group) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.left--
	g.release()
}

func (g *group) release() {
	if g.waiting > 0 && g.waiting >= g.left {
		g.waiting = 0
		g.round++
		g.met.Broadcast()
	}
}

func (g *group) run(b cudart.Backend, i, world int, buffers []buffer, task func(r *rank) error) (err error) {
	device, err := b.Open(0)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, device.Close()) }()
	r := &rank{rank: i, world: world, device: device.(sharingDevice), meet: g.meet}
	r.buffers = map[string][]cudart.DevicePtr{}
	if r.stream, err = device.NewStream(); err != nil {
		return err
	}
	for _, b := range buffers {
		if err := g.share(r, b); err != nil {
			return fmt.Errorf("sharing %s: %w", b.name, err)
		}
	}
	return task(r)
}

// share allocates a buffer on a rank, and maps those of its peers.
func (g *group) share(r *rank, b buffer) error {
	own, err := r.device.Malloc(b.bytes)
	if err != nil {
		return err
	}
	first := byte(poison)
	if b.zero {
		first = 0
	}
	if err := errors.Join(r.stream.Fill(own, first, b.bytes), r.synchronize()); err != nil {
		return err
	}
	files := g.files[b.name]
	if files[r.rank], err = r.device.ExportFD(own); err != nil {
		return err
	}
	g.meet()
	for peer, f := range files {
		address := own
		if peer != r.rank {
			if address, err = r.device.ImportFD(f); err != nil {
				return err
			}
		}
		r.buffers[b.name] = append(r.buffers[b.name], address)
	}
	g.meet()
	return files[r.rank].Close()
}

func (r *rank) synchronize() error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return r.stream.Synchronize(ctx)
}

// simulator is a simulated device with the weakest memory.
func simulator(seed uint64) cudart.Backend {
	return sim.New(1, sim.Options{Seed: seed, Memory: sim.PTXMemory})
}
