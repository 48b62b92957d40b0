package check

import (
	"testing"
	"time"

	engine "gpurun/cudart/sim/check"
)

// The time that is left fits a terminal of 80 columns, whatever follows.
func TestProgressBeginsWithTheTimeLeft(t *testing.T) {
	begun := time.Now()
	p := &progress{total: 320, done: 32, begun: begun}
	got := p.line("allreduce naive", engine.Coverage{Schedules: 8, Behaviors: 2, Pairs: 24, BothOrders: 7}, 1,
		begun.Add(10*time.Second))
	want := "gpurun: 40 of 320 schedules, 1m10s left, 1 found, 2 behaviors, 7 of 24 pairs in both orders: allreduce naive"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
