package worker

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
	"gpurun/cudart/sim"
	"gpurun/worker/workload"
)

// copies counts what every stream copies.
type copies struct {
	cudart.Backend
	mu       sync.Mutex
	byStream []int
}

type countedDevice struct {
	*sim.Device
	copies *copies
}

type countedStream struct {
	cudart.Stream
	copies *copies
	number int
}

func (c *copies) Open(ordinal int) (cudart.Device, error) {
	d, err := c.Backend.Open(ordinal)
	if err != nil {
		return nil, err
	}
	return countedDevice{d.(*sim.Device), c}, nil
}

func (d countedDevice) NewStream(o ...cudart.StreamOption) (cudart.Stream, error) {
	s, err := d.Device.NewStream(o...)
	d.copies.mu.Lock()
	defer d.copies.mu.Unlock()
	d.copies.byStream = append(d.copies.byStream, 0)
	return countedStream{s, d.copies, len(d.copies.byStream) - 1}, err
}

func (s countedStream) Copy(dst, src cudart.DevicePtr, bytes int64) error {
	s.copies.mu.Lock()
	s.copies.byStream[s.number]++
	s.copies.mu.Unlock()
	return s.Stream.Copy(dst, src, bytes)
}

// Links are measured in turns on one stream, and at once on a stream for each peer.
// Half of the copies is not timed.
func TestCeilingCopiesBothWays(t *testing.T) {
	const repetitions, copiesPerPeer = 5, 4
	for world, want := range map[int][]int{
		2: {2 * repetitions * copiesPerPeer},
		4: {
			3 * 2 * repetitions * copiesPerPeer, 2 * repetitions * copiesPerPeer, 2 * repetitions * copiesPerPeer,
			2 * repetitions * copiesPerPeer,
		},
	} {
		job := sideBySide()
		job.Algorithms, job.Sizes, job.CeilingBytes = []string{"oneshot"}, []int64{1 << 10}, 10_000
		counts := make([]*copies, world)
		for rank := range counts {
			counts[rank] = &copies{Backend: sim.New(world, sim.Options{})}
		}
		(ranks{world: world, backend: func(rank int) cudart.Backend { return counts[rank] }}).mustRun(t, job)
		for rank, c := range counts {
			if diff := cmp.Diff(want, slices.DeleteFunc(c.byStream, func(n int) bool { return n == 0 })); diff != "" {
				t.Errorf("rank %d of %d: %s", rank, world, diff)
			}
		}
	}
}

// The links are measured on every rank, and the copies overwrite no other buffer.
func TestCeiling(t *testing.T) {
	job := sideBySide()
	job.CeilingBytes = 100_000
	g := ranks{world: 3}
	found := g.ceiling(t, job)
	if found == nil || len(found.CopyOut) != 3 || slices.Min(found.CopyOut) <= 0 || found.Bytes != 100_000 ||
		found.Skipped != "" {
		t.Errorf("%+v", found)
	}
	if found.Rate() != slices.Min(found.CopyOut) {
		t.Errorf("rate %v of %v", found.Rate(), found.CopyOut)
	}
	job.P2P = workload.Off
	job.Algorithms = []string{"naive"}
	if found := g.ceiling(t, job); found == nil || !strings.Contains(found.Skipped, "p2p is off") || found.Rate() != 0 {
		t.Errorf("%+v", found)
	}
	job.P2P = ""
	if found := (ranks{world: 1}).ceiling(t, job); found == nil || !strings.Contains(found.Skipped, "no peer") {
		t.Errorf("%+v", found)
	}
	if found := g.ceiling(t, sideBySide()); found != nil {
		t.Errorf("nobody asked for %+v", found)
	}
}
