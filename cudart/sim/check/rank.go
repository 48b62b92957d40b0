package check

import (
	"fmt"
	"slices"

	"gpurun/cudart"
	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/check/schedule"
)

// Rank is one of the ranks of a run, for its task.
type Rank struct {
	Number, World int
	Device        cudart.Device

	run  *run
	host *host
}

// Meet waits until all ranks whose tasks have not ended have called Meet as often.
func (r *Rank) Meet() error {
	m := &r.run.meeting
	m.waiting = append(m.waiting, r.host)
	passed := m.passed
	r.host.doing = waitsToMeet
	return r.host.wait(func() bool { return m.passed > passed })
}

// waitsToMeet is what host code does that has called Meet.
const waitsToMeet = "Meet, for the host code of the other ranks"

// Share gives the other ranks an address, and returns the addresses of all ranks. All devices have one address space.
func (r *Rank) Share(ptr cudart.DevicePtr) ([]cudart.DevicePtr, error) {
	r.run.shared[r.Number] = ptr
	if err := r.Meet(); err != nil {
		return nil, err
	}
	all := slices.Clone(r.run.shared)
	return all, r.Meet() // so that nobody shares again before all have read
}

// Name gives a range of memory a name, by which reports call it.
func (r *Rank) Name(ptr cudart.DevicePtr, bytes int64, name string) {
	r.run.memory.name(uint64(ptr), bytes, named{rank: r.Number, name: name})
}

// NameCopy is Name for one of the copies of a buffer.
func (r *Rank) NameCopy(ptr cudart.DevicePtr, bytes int64, name string, number int) {
	r.run.memory.name(uint64(ptr), bytes, named{rank: r.Number, name: name, copied: fmt.Sprintf("copy %d of ", number)})
}

// LeaveGap says that a range of memory lies between buffers: an access to it is out of bounds.
func (r *Rank) LeaveGap(ptr cudart.DevicePtr, bytes int64) {
	r.run.memory.gaps = append(r.run.memory.gaps, extent{begin: uint64(ptr), end: uint64(ptr) + uint64(bytes)})
}

// meeting is where hosts wait for one another.
type meeting struct {
	waiting []*host
	passed  int // meetings so far
}

// hold lets the hosts go on if all that run have come. Each then happens after all of them.
func (r *run) hold() {
	m, running := &r.meeting, 0
	for _, rank := range r.ranks {
		if !rank.host.ended {
			running++
		}
	}
	if len(m.waiting) == 0 || len(m.waiting) < running {
		return
	}
	var all race.Barrier
	var threads []*race.Thread
	for _, h := range m.waiting {
		r.detector.Arrive(&all, h.thread)
		threads = append(threads, h.thread)
	}
	r.detector.Release(&all, threads)
	if r.explores != nil {
		r.explores.search.Meet(r.hostsThatMeet())
	}
	m.waiting = nil
	m.passed++
}

// hostsThatMeet are the names of the hosts that wait for one another.
func (r *run) hostsThatMeet() []schedule.Actor {
	var all []schedule.Actor
	for _, rank := range r.ranks {
		if slices.Contains(r.meeting.waiting, rank.host) {
			all = append(all, schedule.Actor{Rank: rank.Number})
		}
	}
	return all
}
