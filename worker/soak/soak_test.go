package soak

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The size of batches follows the time that they take.
func TestNextBatch(t *testing.T) {
	got := []int{
		nextBatch(1, 0), nextBatch(maxBatch, 0), nextBatch(10, batchTime), nextBatch(10, time.Hour), nextBatch(1, time.Hour),
	}
	if diff := cmp.Diff([]int{2, maxBatch, 10, 5, 1}, got); diff != "" {
		t.Error(diff)
	}
}

// Every rank's failures are of the first call that is wrong anywhere.
func TestFirstFailure(t *testing.T) {
	for _, tt := range []struct {
		failed []int
		want   int
	}{{[]int{-1, -1}, -1}, {[]int{-1, 3}, 3}, {[]int{5, 3, -1}, 3}, {[]int{0, 3}, 0}} {
		var all []found
		for _, f := range tt.failed {
			all = append(all, found{Failed: f})
		}
		if got := firstFailure(all); got != tt.want {
			t.Errorf("%v: %d, want %d", tt.failed, got, tt.want)
		}
	}
}
