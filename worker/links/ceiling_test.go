package links

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
	"gpurun/worker/rank"
	"gpurun/worker/result"
)

// The ceiling is the way of copying that is faster for the slowest rank. Without a clock that
// advances there is no ceiling.
func TestCeilingOf(t *testing.T) {
	const turns, once = "copy engine, all ranks at once to one peer after the other",
		"copy engine, all ranks at once to all peers at once"
	for name, c := range map[string]struct {
		all  []copyRates
		want result.Ceiling
	}{
		"behind a switch": {
			[]copyRates{{390, 380}, {391, 385}, {392, 370}},
			result.Ceiling{CopyOut: []float64{390, 391, 392}, Bytes: 1000, Method: turns},
		},
		"links of their own": {
			[]copyRates{{50, 150}, {49, 149}, {48, 151}},
			result.Ceiling{CopyOut: []float64{150, 149, 151}, Bytes: 1000, Method: once},
		},
		"one of them slow": {
			[]copyRates{{50, 150}, {49, 20}}, result.Ceiling{CopyOut: []float64{50, 49}, Bytes: 1000, Method: turns},
		},
		"one peer": {[]copyRates{{50, 0}, {49, 0}}, result.Ceiling{CopyOut: []float64{50, 49}, Bytes: 1000, Method: turns}},
		"no clock": {
			[]copyRates{{0, 0}, {49, 50}}, result.Ceiling{Skipped: "the device's clock does not advance while it copies"},
		},
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

func TestConcurrentCopiesTook(t *testing.T) {
	at := func(times ...time.Duration) (s rank.Events) {
		for _, x := range times {
			s = append(s, clock{at: x})
		}
		return s
	}
	for _, c := range []struct {
		begin, end rank.Events
		want       time.Duration // 0: an error
	}{
		{at(5), at(9), 4},
		{at(5, 6, 7), at(20, 30, 25), 25},
		{at(7, 5, 6), at(20, 10, 11), 15}, // the first stream is not the first to begin
		{at(5, 6), at(9, -1), 0},
	} {
		f := concurrentCopies{streams: make([]cudart.Stream, len(c.begin)), begin: c.begin, end: c.end}
		if got, err := f.took(); got != c.want || (err != nil) != (c.want == 0) {
			t.Errorf("%v to %v: %v, %v", c.begin, c.end, got, err)
		}
	}
}
