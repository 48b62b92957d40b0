package measure

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpurun/worker/result"
)

func TestDistribution(t *testing.T) {
	var hundred []time.Duration
	for i := 100; i >= 1; i-- {
		hundred = append(hundred, time.Duration(i)*time.Microsecond)
	}
	for _, tt := range []struct {
		samples []time.Duration
		want    result.Time
	}{
		{nil, result.Time{}},
		{[]time.Duration{1500}, result.Time{Min: 1.5, P50: 1.5, P95: 1.5, P99: 1.5, Max: 1.5}},
		{[]time.Duration{3000, 1000, 2000}, result.Time{Min: 1, P50: 2, P95: 3, P99: 3, Max: 3}},
		{hundred, result.Time{Min: 1, P50: 50, P95: 95, P99: 99, Max: 100}},
	} {
		if diff := cmp.Diff(tt.want, Distribution(tt.samples)); diff != "" {
			t.Errorf("%d samples: %s", len(tt.samples), diff)
		}
	}
}

// A pass's sample is the slowest rank's, in the order of the passes.
func TestSamplesAreTheSlowestRanks(t *testing.T) {
	var r result.Result
	setSamples(&r, []Measurement{
		{Samples: []time.Duration{3000, 1000, 9000, 1500}, OnHost: []time.Duration{500, 200, 700, 300}},
		{Samples: []time.Duration{2000, 4000, 8000, 1600}, OnHost: []time.Duration{400, 900, 100, 300}},
	})
	want := result.Result{
		Samples: []float64{3, 4, 9, 1.6},
		Time:    result.Time{Min: 1.6, P50: 3.5, P95: 9, P99: 9, Max: 9},
		OnHost:  0.6, // of 0.5, 0.9, 0.7, 0.3
	}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Error(diff)
	}
}
