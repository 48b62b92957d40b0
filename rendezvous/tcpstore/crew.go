package tcpstore

import (
	"errors"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// crew are the goroutines that read and write for the loop while many clients are
// ready at once: system calls are nearly all of what a request costs, and with
// tens of clients that wait for answers one processor is not enough for them. What
// is asked and answered stays the loop's own: first all are read from, then it
// serves one after the other, and then all are answered.
type crew struct {
	helpers int // besides the loop's goroutine
	from    int // how many clients must be ready
	buffers [][]byte
	// answering: replies are kept until all that were read have been served.
	answering bool
	replies   []*conn // whose
}

const (
	// processorsPerHelper keeps most of a machine for those whose store it is.
	processorsPerHelper = 16
	mostHelpers         = 3

	// crewFrom is from how many clients on it pays to wake helpers, twice.
	crewFrom = 8

	// crewReadBytes is how much is read at once of each of them.
	crewReadBytes = 8 << 10
)

func newCrew() crew {
	return crew{helpers: min(runtime.NumCPU()/processorsPerHelper, mostHelpers), from: crewFrom}
}

// wanted says whether to share the work for so many clients that are ready.
func (w *crew) wanted(ready int) bool { return w.helpers > 0 && ready >= w.from }

// share does something n times, on several processors, and returns when all is done.
func (w *crew) share(n int, do func(i int)) {
	var next atomic.Int64
	work := func() {
		for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
			do(i)
		}
	}
	var helpers sync.WaitGroup
	for range min(w.helpers, n-1) {
		helpers.Go(work)
	}
	work()
	helpers.Wait()
}

// serveTogether is conn.ready for many clients.
func (l *loop) serveTogether(ready []*conn) error {
	// Serving one who was blocked may have changed that, or ended a connection.
	ready = slices.DeleteFunc(ready, func(c *conn) bool { return c.gone || c.blocked })
	reads := l.crew.read(ready)
	l.crew.answering = true
	for i, c := range ready {
		if c.gone {
			continue
		}
		err := c.answerRead(reads[i])
		if err != nil && c.replies && !c.blocked && !c.out.empty() {
			err = errors.Join(err, c.out.writeTo(c.fd)) // it goes now, with what it was to be answered
		}
		l.dismissOn(err, c)
	}
	l.crew.answering = false
	l.answerTogether()
	for _, c := range ready {
		if err := l.restIfStreaming(c); err != nil {
			return err
		}
	}
	return nil
}

// answerRead answers what the crew has read. Who has more to say has another turn.
func (c *conn) answerRead(r received) error {
	err := c.received(r)
	if err == nil && r.n == crewReadBytes && !c.blocked {
		_, err = c.turn()
	}
	return err
}

// read reads from all once.
func (w *crew) read(ready []*conn) []received {
	for len(w.buffers) < len(ready) {
		w.buffers = append(w.buffers, make([]byte, crewReadBytes))
	}
	reads := make([]received, len(ready))
	w.share(len(ready), func(i int) { reads[i] = readFrom(ready[i].fd, w.buffers[i]) })
	return reads
}

// answerTogether sends the replies that were kept.
func (l *loop) answerTogether() {
	kept := slices.DeleteFunc(l.crew.replies, func(c *conn) bool {
		c.replies = false
		return c.gone || c.blocked || c.out.empty() // it was too much to be kept
	})
	errs := make([]error, len(kept))
	l.crew.share(len(kept), func(i int) { errs[i] = kept[i].out.writeTo(kept[i].fd) })
	for i, c := range kept {
		err := c.sent(errs[i])
		if err == nil {
			err = c.settle(c.in, nil)
		}
		l.dismissOn(err, c)
	}
	l.crew.replies = l.crew.replies[:0]
}

// keep has a client answered with the others. It says whether it will be.
func (w *crew) keep(c *conn) bool {
	if !w.answering || c.out.size >= replyBytes {
		return false
	}
	if !c.replies {
		c.replies = true
		w.replies = append(w.replies, c)
	}
	return true
}
