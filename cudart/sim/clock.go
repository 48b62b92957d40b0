package sim

import (
	"sync"
	"time"
)

// Clock is simulated time, which devices of one process share. It passes only when nothing else can happen: when every
// device has found, since anything last happened, that it has nothing to do or that all its work waits, and every host
// thread waits as well. So a time-out in a kernel expires at once where its peer is missing, and never because the
// machine is slow. Without a Clock, devices have the time of the machine.
//
// A host thread that waits for a device waits by the device's methods. Where it waits for another thread it calls
// Pause; the thread that lets it go on calls Resume for it, before it waits itself.
type Clock struct {
	mu       sync.Mutex
	now      time.Duration
	events   uint64 // counts all that happened: progress, work that was enqueued, time that passed
	running  int    // host threads that do not wait
	devices  map[*Device]*standing
	sleepers []sleeper
}

// standing is what a device has last found.
type standing struct {
	enqueued uint64 // counts work
	empty    bool   // nothing is enqueued
	idleAt   uint64 // the number of events at which all work waited
}

// sleeper is a host thread that waits for a time.
type sleeper struct {
	until time.Duration
	woken chan struct{}
}

// clockStep is how much time passes at once. It is a small part of the time-out of any wait: a kernel reads the clock
// once in many polls, and with disorder it may take several turns to see what has changed.
const clockStep = 5 * time.Millisecond

// readTime is how long a device takes to look at the clock.
const readTime = 100 * time.Nanosecond

// NewClock makes a clock for so many host threads, none of which waits. It does not begin at 0, which kernels take for
// no time.
func NewClock(threads int) *Clock {
	return &Clock{now: time.Second, running: threads, devices: map[*Device]*standing{}}
}

// Now is the simulated time.
func (c *Clock) Now() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

// read is the time of a device that looks at it, which takes readTime: a kernel may wait for the time alone.
func (c *Clock) read() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now += readTime
	return c.now
}

// Pause says that a host thread waits, or has ended.
func (c *Clock) Pause() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	c.pass()
}

// Resume says that so many host threads do not wait any more.
func (c *Clock) Resume(threads int) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running += threads
}

// Sleep waits until so much simulated time has passed.
func (c *Clock) Sleep(d time.Duration) {
	c.mu.Lock()
	s := sleeper{until: c.now + d, woken: make(chan struct{})}
	c.sleepers = append(c.sleepers, s)
	c.running--
	c.pass()
	c.mu.Unlock()
	<-s.woken
}

// add adds a device, and remove removes it.
func (c *Clock) add(d *Device) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.devices[d] = &standing{empty: true}
}

func (c *Clock) remove(d *Device) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.devices, d)
	c.pass()
}

// enqueue says that a device gets work.
func (c *Clock) enqueue(d *Device) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.events++
	if s, ok := c.devices[d]; ok {
		s.enqueued++
		s.empty = false
	}
}

// moment is what a device knows when its turn begins.
type moment struct {
	now              time.Duration
	events, enqueued uint64
}

func (c *Clock) moment(d *Device) moment {
	if c == nil {
		return moment{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	m := moment{now: c.now, events: c.events}
	if s, ok := c.devices[d]; ok {
		m.enqueued = s.enqueued
	}
	return m
}

// turned says what a device has found in a turn that began at a moment.
func (c *Clock) turned(d *Device, found activity, began moment) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.devices[d]
	if !ok {
		return
	}
	switch found {
	case progressed:
		c.events++
	case blocked:
		s.idleAt = began.events
		c.pass()
	case empty:
		s.empty = s.enqueued == began.enqueued
		c.pass()
	}
}

// pass lets time pass if nothing else can happen. The caller holds c.mu.
func (c *Clock) pass() {
	if c.running > 0 {
		return
	}
	anyWaits := false // a device, which looks at the time again
	for _, s := range c.devices {
		if !s.empty && s.idleAt != c.events {
			return
		}
		anyWaits = anyWaits || !s.empty
	}
	for c.now, c.events = c.now+clockStep, c.events+1; !c.wake() && !anyWaits && len(c.sleepers) > 0; {
		c.now += clockStep
	}
}

// wake lets the threads go on whose time has come, and reports whether there are any. The caller holds c.mu.
func (c *Clock) wake() (any bool) {
	still := c.sleepers[:0]
	for _, s := range c.sleepers {
		if s.until > c.now {
			still = append(still, s)
			continue
		}
		any = true
		c.running++
		close(s.woken)
	}
	c.sleepers = still
	return any
}
