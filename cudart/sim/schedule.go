package sim

import (
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// activity is what a turn of a stream found.
type activity uint8

const (
	empty   activity = iota // nothing is enqueued
	blocked                 // the commands that have begun wait for other work
	progressed
)

// busyDevices counts the devices of this process that have commands to run.
var busyDevices atomic.Int32

// run gives the device's streams turns until the device closes. A turn is a
// small part of a command, so that all commands that have begun run concurrently, and a kernel may wait
// for a copy.
func (d *Device) run() {
	defer close(d.ended)
	busyDevices.Add(1)
	defer busyDevices.Add(-1)
	pollTime := time.Duration(0) // of a turn that finds no progress
	seen := time.Duration(0)     // by the simulated clock
	for idleTurns := 0; d.stop.Err() == nil; {
		began, moment := time.Now(), d.clock.moment(d)
		if moment.now != seen {
			seen, idleTurns = moment.now, 0
		}
		found := d.turnAll()
		d.clock.turned(d, found, moment)
		switch found {
		case progressed:
			idleTurns = 0
		case blocked:
			idleTurns++
			pollTime = min(time.Since(began), 2*pollTime+time.Microsecond) // without the time that other processes had the CPU
			d.backOff(idleTurns, pollTime)
		case empty:
			idleTurns = 0
			busyDevices.Add(-1)
			d.sleep()
			busyDevices.Add(1)
		}
	}
}

// turnAll gives each stream a turn and returns the highest activity.
func (d *Device) turnAll() activity {
	most := empty
	streams, questions := d.takeCommands()
	d.answer(questions, streams)
	for _, s := range streams {
		most = max(most, s.turn())
	}
	return most
}

// takeCommands takes the next command of every stream that executes none, all under one lock, so that
// commands that were enqueued at once also begin at once. It returns the streams, and the questions about them.
func (d *Device) takeCommands() ([]*stream, []inspection) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.streams {
		if s.task == nil {
			s.takeCommand()
		}
	}
	questions := d.questions
	d.questions = nil
	return d.streams, questions
}

// sleep waits for work.
func (d *Device) sleep() {
	select {
	case <-d.wake:
	case <-d.stop.Done():
	}
}

// notify ends a sleep, or the next one.
func (d *Device) notify() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// backOff gives the CPU to the ranks that the kernels wait for: to the rest of this process, and to other
// processes. A yield within the process wakes an idle thread, so a device that is alone there does it
// rarely. idleTurns counts the turns in a row without progress; pollTime is how long one
// takes.
//
// At first it only yields, because the answer comes soon as a rule. Then it sleeps for a small part of
// the time waited so far, so that ranks with work find a core, however many wait. It sleeps for longer than
// pollTime: where thousands of warps poll, as in kernels that receive packets, polling again at once would
// leave the other ranks nothing. Short sleeps are system calls: Go's own would last a millisecond or more
// when nothing else runs.
func (d *Device) backOff(idleTurns int, pollTime time.Duration) {
	const (
		yields, step = 16, 5 * time.Microsecond // turns that only yield; sleep per turn after these
		// turns between yields to the rest of a process that has no other busy device
		rarely          = 32
		shortPoll       = 20 * time.Microsecond // longer polls ...
		sleepPerPoll    = 3                     // ... are followed by so many times their own length
		longestSyscall  = 500 * time.Microsecond
		shortestGoSleep = time.Millisecond
	)
	if busyDevices.Load() > 1 || idleTurns%rarely == 0 {
		runtime.Gosched()
	}
	sleep := max(0, time.Duration(idleTurns-yields)*step)
	if pollTime > shortPoll {
		sleep = max(sleep, sleepPerPoll*pollTime)
	}
	switch {
	case sleep == 0:
		unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	case sleep <= longestSyscall:
		short := unix.NsecToTimespec(int64(sleep))
		unix.Nanosleep(&short, nil)
	default:
		select {
		case <-d.wake:
		case <-time.After(max(shortestGoSleep, sleepPerPoll*pollTime)):
		}
	}
}

// newStream starts a stream, and with the first one the goroutine that runs all
// of them.
func (d *Device) newStream() *stream {
	s := &stream{device: d, number: d.made, ended: make(chan struct{})}
	s.delays = d.random(s.number, 0)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.streams = append(slices.Clip(d.streams), s)
	if d.made == 0 {
		go d.run()
	}
	d.made++
	return s
}

// allStreams returns the streams that are not over. The slice does not change.
func (d *Device) allStreams() []*stream {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.streams
}
