package check

import (
	"errors"
	"iter"

	"gpurun/cudart/sim/check/race"
)

// errEnded is what host code gets that waits when its run has ended.
var errEnded = errors.New("the run has ended, because another rank failed or nothing could go on")

// host is the host code of a rank, a coroutine: it runs until it waits.
type host struct {
	thread *race.Thread
	resume func() (struct{}, bool)
	stop   func()
	yield  func(struct{}) bool
	until  func() bool // what it waits for; nil before it has begun
	doing  string      // the same for people
	ended  bool
	err    error
}

func hostPlace(rank int) race.Place { return race.Place{Rank: rank} }

func (h *host) start(task func() error) {
	h.resume, h.stop = iter.Pull(func(yield func(struct{}) bool) {
		h.yield = yield
		h.err = task()
	})
}

// ready reports whether the host can go on.
func (h *host) ready() bool { return !h.ended && (h.until == nil || h.until()) }

// step runs the host until it waits or ends.
func (h *host) step() {
	if _, more := h.resume(); !more {
		h.ended = true
	}
}

// wait gives the other hosts and the streams their turns until a condition holds.
func (h *host) wait(until func() bool) error {
	for !until() {
		h.until = until
		if !h.yield(struct{}{}) {
			return errEnded
		}
	}
	return nil
}

// end makes a host that waits return.
func (h *host) end() {
	h.stop()
	h.ended = true
}
