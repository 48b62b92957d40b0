package sim

import (
	"runtime"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// activity is what a turn of a stream found.
type activity uint8

const (
	empty   activity = iota // nothing is enqueued
	blocked                 // the work under way waits for somebody else's
	progressed
)

// run gives the device's streams turns until the device closes. A turn is a
// small part of a command, so that whatever is under way goes on side by side,
// and a kernel may wait for a copy.
func (d *Device) run() {
	defer close(d.ended)
	look := time.Duration(0) // how long it takes to see that nothing moves
	for idle := 0; d.stop.Err() == nil; {
		began := time.Now()
		switch d.turnAll() {
		case progressed:
			idle = 0
		case blocked:
			idle++
			look = min(time.Since(began), 2*look+time.Microsecond) // not what it took where others had the CPU meanwhile
			d.backOff(idle, look)
		case empty:
			idle = 0
			d.sleep()
		}
	}
}

// turnAll gives each stream a turn and returns the most that one of them did.
func (d *Device) turnAll() activity {
	most := empty
	for _, s := range d.takeCommands() {
		most = max(most, s.turn())
	}
	return most
}

// takeCommands takes the next command of every stream that has none under way, all in
// one moment, so that what is enqueued at once also begins at once. It returns
// the streams.
func (d *Device) takeCommands() []*stream {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.streams {
		if s.task == nil {
			s.takeCommand()
		}
	}
	return d.streams
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

// backOff gives the CPU to whoever the kernels wait for, first to the rest of this
// process and then to other processes. At first it only yields, because the
// answer is often on its way; then it sleeps, a small part of the time waited so
// far, so that ranks that have something to do find a core, however many wait. It
// sleeps for longer than it took to see that nothing moves: where thousands
// of warps poll, as those do that take packets, looking again at once would leave the
// others nothing. A sleep of Go's own would last a millisecond at least where nothing
// else runs, which is too long at first.
func (d *Device) backOff(rounds int, look time.Duration) {
	const (
		yields, step = 64, 5 * time.Microsecond
		quick, share = 20 * time.Microsecond, 3 // of what takes longer, looking has a quarter of the time
		longest      = 500 * time.Microsecond
	)
	runtime.Gosched()
	nap := max(0, time.Duration(rounds-yields)*step)
	if look > quick {
		nap = max(nap, share*look)
	}
	switch {
	case nap == 0:
		unix.Syscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	case nap <= longest:
		short := unix.NsecToTimespec(int64(nap))
		unix.Nanosleep(&short, nil)
	default:
		select {
		case <-d.wake:
		case <-time.After(max(time.Millisecond, share*look)):
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
