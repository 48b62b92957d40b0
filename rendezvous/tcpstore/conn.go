package tcpstore

import (
	"bytes"
	"container/list"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"golang.org/x/sys/unix"
)

// readBytes is how much is read at once. Then it is another client's turn.
const readBytes = 64 << 10

// turnsAlone is how often one client is read from while nobody else is ready.
// Only short reads are repeated, so that others wait no longer than for one
// long read.
const turnsAlone = 16

// replyBytes is how much may be put together before it is sent.
const replyBytes = 64 << 10

// conn is one client's connection. One that is silent holds no buffers. It
// belongs to the loop's goroutine.
type conn struct {
	loop *loop
	fd   int
	peer net.Addr

	gen      generation
	greeted  bool    // gen is known
	answered bool    // a request was served: this is no passing stranger
	scanner  scanner // of the request that in begins with; size 0 before it is begun
	in       []byte  // requests that are incomplete, or whose turn has not come
	out      outbox
	blocked  bool // the client must take a reply before it is listened to
	gone     bool // hung up on
	replies  bool // that are kept for the crew
	held     int64
	visit    int  // its last one, as crowd counts them
	more     bool // was there than its last read has taken, it may be
	stream   stream

	waiting *waiter // nil while the client waits for nothing
	due     time.Time
	hurry   *list.Element // nil while nothing is due
}

// ready reads and answers, or goes on sending. It returns io.EOF when the
// client has left between two requests. One who is ready alone is asked for
// the next request at once, a few times: it often has come meanwhile, and
// reading takes less time than asking all.
func (c *conn) ready(alone bool) error {
	turns := 1
	if alone {
		turns = turnsAlone
	}
	for range turns {
		if again, err := c.turn(); err != nil || !again {
			return err
		}
	}
	return nil
}

// turn reads once. It says whether it pays to do so again.
func (c *conn) turn() (again bool, err error) {
	if c.blocked {
		if err := c.send(); err != nil || c.blocked {
			return false, err
		}
		return false, c.settle(c.serve(c.in))
	}
	r := readFrom(c.fd, c.loop.buffer)
	err = c.received(r)
	return 0 < r.n && r.n <= readBytes/turnsAlone && !c.blocked, err
}

// received is what a read has returned.
type received struct {
	buffer []byte
	n      int
	err    error
}

func readFrom(fd int, buffer []byte) received {
	n, err := unix.Read(fd, buffer)
	return received{buffer, n, err}
}

// received answers what a read has returned.
func (c *conn) received(r received) error {
	switch {
	case errors.Is(r.err, unix.EAGAIN) || errors.Is(r.err, unix.EINTR):
		return nil
	case r.err != nil:
		return fmt.Errorf("waiting for a request: %w", r.err)
	case r.n == 0 && len(c.in) > 0:
		return fmt.Errorf("reading a request: %w", io.ErrUnexpectedEOF)
	case r.n == 0:
		return io.EOF
	}
	b := r.buffer[:r.n]
	c.more = r.n == len(r.buffer)
	if len(c.in) > 0 {
		c.in = append(c.in, b...)
		b = c.in
	}
	return c.settle(c.serve(b))
}

// serve answers the requests at the beginning of b and returns what follows
// them.
func (c *conn) serve(b []byte) (rest []byte, err error) {
	for err == nil && len(b) > 0 && !c.blocked {
		var size int
		if size, err = c.serveOne(b); size == 0 {
			break
		}
		b = b[size:]
		c.loop.hurried.remove(c)
		if c.out.size >= replyBytes {
			err = c.send()
		}
	}
	if !c.blocked {
		err = errors.Join(err, c.send())
	}
	return b, err
}

// serveOne returns the size of what it has dealt with, 0 when it takes more
// bytes to do so.
func (c *conn) serveOne(b []byte) (size int, err error) {
	if !c.greeted {
		if c.gen, size, c.greeted = greeting(b); size > 0 || !c.greeted {
			return size, nil
		}
	}
	if c.scanner.size == 0 {
		if c.scanner, err = scan(c.gen, b[0]); err != nil {
			return 0, fmt.Errorf("reading a request: %w", err)
		}
	}
	if complete, err := c.scanner.complete(b, c.loop.limits); err != nil || !complete {
		return 0, err
	}
	op, size := c.scanner.op, c.scanner.size
	c.scanner = scanner{}
	c.endWait() // only a client that has given up waiting asks for something else
	if err := c.answer(newRequest(op, b[:size])); err != nil {
		c.loop.wake() // those who waited for what was set before the error
		return 0, fmt.Errorf("answering a request of operation %d: %w", op, err)
	}
	c.answered = true
	c.loop.requests++
	c.stream.request(size)
	c.loop.wake()
	return size, nil
}

// send sends what the client takes now.
func (c *conn) send() error {
	if c.out.empty() {
		return nil
	}
	if c.loop.crew.keep(c) {
		return nil
	}
	return c.sent(c.out.writeTo(c.fd))
}

// sent goes on after a reply has been sent, as far as the client takes it.
func (c *conn) sent(err error) error {
	if err != nil {
		return fmt.Errorf("answering: %w", err)
	}
	c.stream.answered()
	blocked := !c.out.empty()
	if blocked == c.blocked {
		return nil
	}
	c.blocked = blocked
	c.loop.hurried.remove(c)
	events := uint32(readable)
	if blocked {
		events = unix.EPOLLOUT
	}
	return c.loop.poller.change(c.fd, events)
}

// settle keeps what could not be served yet, and sees to it that it does not
// stay for ever.
func (c *conn) settle(rest []byte, err error) error {
	if err != nil {
		return err
	}
	switch len(rest) {
	case 0:
		c.in = nil
	case len(c.in): // as it was: a request that grows is not copied each time
	default:
		c.in = bytes.Clone(rest)
	}
	if err := c.hold(int64(len(c.in)) + c.out.memory); err != nil {
		return err
	}
	if len(c.in) > 0 || c.blocked {
		c.loop.hurried.add(c)
	}
	return nil
}

// hold counts the memory that the client takes.
func (c *conn) hold(bytes int64) error {
	if !c.loop.underWay.change(c.held, bytes) {
		return fmt.Errorf("%w: requests and replies under way of more than %d bytes", errLimit, c.loop.limits.TotalBytes)
	}
	c.held = bytes
	return nil
}

// waitFor has the client answered when a wait is over: at once without one.
func (c *conn) waitFor(w *waiter) {
	if w == nil {
		c.out.bytes(stopWaiting)
		return
	}
	w.owner, c.waiting = c, w
}

// endWait makes sure that no wait will be answered from now on.
func (c *conn) endWait() {
	if c.waiting != nil {
		c.loop.table.giveUp(c.waiting)
		c.waiting = nil
	}
}

// woken tells the client that what it waited for has come.
func (c *conn) woken() error {
	c.waiting = nil
	c.out.bytes(stopWaiting)
	if c.blocked {
		return nil
	}
	if err := c.send(); err != nil {
		return err
	}
	return c.settle(c.in, nil)
}
