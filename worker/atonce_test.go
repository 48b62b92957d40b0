package worker

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
	"gpurun/cudart/sim"
	"gpurun/worker/result"
)

// The way of copying counts that is faster for the slowest rank. Where no clock goes
// there is no ceiling.
func TestCeilingOf(t *testing.T) {
	const turns, once = "copy engine, all ranks at once to one peer after the other", "copy engine, all ranks at once to all peers at once"
	for name, c := range map[string]struct {
		all  []copyRates
		want result.Ceiling
	}{
		"behind a switch":    {[]copyRates{{390, 380}, {391, 385}, {392, 370}}, result.Ceiling{CopyOut: []float64{390, 391, 392}, Bytes: 1000, Method: turns}},
		"links of their own": {[]copyRates{{50, 150}, {49, 149}, {48, 151}}, result.Ceiling{CopyOut: []float64{150, 149, 151}, Bytes: 1000, Method: once}},
		"one of them slow":   {[]copyRates{{50, 150}, {49, 20}}, result.Ceiling{CopyOut: []float64{50, 49}, Bytes: 1000, Method: turns}},
		"one peer":           {[]copyRates{{50, 0}, {49, 0}}, result.Ceiling{CopyOut: []float64{50, 49}, Bytes: 1000, Method: turns}},
		"no clock":           {[]copyRates{{0, 0}, {49, 50}}, result.Ceiling{Skipped: "the device's clock stands still while it copies"}},
	} {
		if diff := cmp.Diff(c.want, ceilingOf(c.all, 1000)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// clock is a stamp that was taken at a time.
type clock struct {
	cudart.Event
	at time.Duration
}

func (c clock) Since(start cudart.Event) (time.Duration, error) {
	from := start.(clock)
	if c.at < 0 || from.at < 0 {
		return 0, errors.New("not taken")
	}
	return c.at - from.at, nil
}

func TestFanTook(t *testing.T) {
	at := func(times ...time.Duration) (s stamps) {
		for _, x := range times {
			s = append(s, clock{at: x})
		}
		return s
	}
	for _, c := range []struct {
		begin, end stamps
		want       time.Duration // 0: an error
	}{
		{at(5), at(9), 4},
		{at(5, 6, 7), at(20, 30, 25), 25},
		{at(7, 5, 6), at(20, 10, 11), 15}, // the first stream is not the first to begin
		{at(5, 6), at(9, -1), 0},
	} {
		f := fan{streams: make([]cudart.Stream, len(c.begin)), begin: c.begin, end: c.end}
		if got, err := f.took(); got != c.want || (err != nil) != (c.want == 0) {
			t.Errorf("%v to %v: %v, %v", c.begin, c.end, got, err)
		}
	}
}

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
	for world, want := range map[int][]int{
		2: {2 * copyRepetitions * copiesAtOnce},
		4: {3 * 2 * copyRepetitions * copiesAtOnce, 2 * copyRepetitions * copiesAtOnce, 2 * copyRepetitions * copiesAtOnce, 2 * copyRepetitions * copiesAtOnce},
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
