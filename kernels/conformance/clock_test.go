package conformance

import (
	"time"

	"gpurun/cudart/sim"
)

// Ranks on simulated devices have simulated time, which passes only while all of them wait: see sim.Clock. So a
// time-out expires at once, and never because the machine is busy. On a GPU time is real.

// now is the time of the member's device since some moment.
func (m *member) now() time.Duration {
	if m.clock != nil {
		return m.clock.Now()
	}
	return time.Since(processBegan)
}

var processBegan = time.Now()

// sleep makes the member late by some time of its device.
func (m *member) sleep(d time.Duration) {
	if m.clock != nil {
		m.clock.Sleep(d)
		return
	}
	time.Sleep(d)
}

// realTime is a simulator whose devices have the machine's time. A test uses it whose ranks keep working while they
// wait, so that simulated time would seldom pass. It runs before the parallel tests, which would delay it.
type realTime struct{ *sim.Backend }

func inRealTime(o sim.Options) realTime { return realTime{sim.New(1, o).WithMemory(sim.PTXMemory)} }
