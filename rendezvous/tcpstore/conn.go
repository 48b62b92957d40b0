package tcpstore

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"time"
)

const (
	// readBytes is the buffer of a connection, unless a request needs more.
	readBytes = 4 << 10

	// replyBytes is the size from which replies to pipelined requests are sent
	// before the next request is carried out.
	replyBytes = 64 << 10
)

// conn is one client's connection. Its fields belong to the goroutine that runs
// serveAll.
type conn struct {
	net.Conn
	server *Server

	gen      generation
	greeted  bool    // gen is known
	answered bool    // a request was carried out: the client speaks the protocol
	scanner  scanner // of the request at the beginning of in; size 0: not begun
	in       []byte  // received and not carried out
	out      reply   // not sent
	held     int64   // bytes of in and out, as counted in server.inFlight
	timed    bool    // a read deadline is set

	wait *waiter    // the client's wait, nil if there is none
	told chan error // has what tell returns, when it has returned

	closed sync.Once
}

// serveAll reads and answers until the connection ends. It returns io.EOF if
// the client left between two requests.
func (c *conn) serveAll() error {
	for {
		if err := c.receive(); err != nil {
			return err
		}
		rest, err := c.serve(c.in)
		if err != nil {
			return err
		}
		if err := c.keep(rest); err != nil {
			return err
		}
	}
}

// receive reads once and adds to c.in. The buffer grows with what has arrived of a
// request, not with the length that the request announces.
func (c *conn) receive() error {
	if len(c.in) == cap(c.in) {
		c.in = slices.Grow(c.in, max(readBytes, len(c.in)))
	}
	n, err := c.Read(c.in[len(c.in):cap(c.in)])
	switch {
	case n > 0 || err == nil:
		c.in = c.in[:len(c.in)+n]
		return nil
	case errors.Is(err, io.EOF) && len(c.in) > 0:
		return fmt.Errorf("reading a request: %w", io.ErrUnexpectedEOF)
	case errors.Is(err, io.EOF):
		return io.EOF
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("a request did not arrive within %v: %w", c.server.limits.RequestTime, err)
	default:
		return fmt.Errorf("waiting for a request: %w", err)
	}
}

// serve carries out the complete requests at the beginning of b. It returns the
// bytes behind them.
func (c *conn) serve(b []byte) (rest []byte, err error) {
	for err == nil && len(b) > 0 {
		var size int
		if size, err = c.serveOne(b); size == 0 {
			break
		}
		b = b[size:]
		if c.out.size >= replyBytes {
			err = c.send()
		}
	}
	return b, errors.Join(err, c.send()) // what came before an error is answered
}

// serveOne carries out one request, or takes a greeting. It returns the size of
// either, 0 if b has only a part.
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
	if complete, err := c.scanner.complete(b, c.server.limits); err != nil || !complete {
		return 0, err
	}
	op, size := c.scanner.op, c.scanner.size
	c.scanner = scanner{}
	if err := c.endWait(); err != nil { // a client that sends another request gives up its wait
		return 0, err
	}
	wait, err := c.server.carryOut(c, newRequest(op, b[:size]), &c.out)
	if err != nil {
		return 0, fmt.Errorf("answering a request of operation %d: %w", op, err)
	}
	c.answered = true
	return size, errors.Join(c.endDeadline(), c.startWait(wait))
}

// keep keeps what has not been carried out, and gives the client a deadline for
// the rest of a request. A request's deadline does not move while it arrives.
func (c *conn) keep(rest []byte) error {
	switch {
	case len(rest) == len(c.in): // a request that grows
	case cap(c.in) > readBytes:
		c.in = bytes.Clone(rest)
	default:
		c.in = append(c.in[:0], rest...)
	}
	if err := c.hold(); err != nil || len(c.in) == 0 || c.timed {
		return err
	}
	c.timed = true
	return c.SetReadDeadline(time.Now().Add(c.server.limits.RequestTime))
}

// endDeadline removes a request's deadline: a client may be silent between requests.
func (c *conn) endDeadline() error {
	if !c.timed {
		return nil
	}
	c.timed = false
	return c.SetReadDeadline(time.Time{})
}

// send sends the replies.
func (c *conn) send() error {
	if c.out.empty() {
		return nil
	}
	if err := c.hold(); err != nil {
		return err
	}
	return c.write(&c.out)
}

// write sends a reply, which the client must take within RequestTime.
func (c *conn) write(r *reply) error {
	err := c.SetWriteDeadline(time.Now().Add(c.server.limits.RequestTime))
	if err == nil {
		err = r.writeTo(c.Conn)
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Errorf("a reply was not taken within %v: %w", c.server.limits.RequestTime, err)
	case err != nil:
		return fmt.Errorf("answering: %w", err)
	}
	return nil
}

// hold counts the memory of c.in and c.out in the server's budget.
func (c *conn) hold() error {
	now := int64(len(c.in)) + c.out.memory
	if now == c.held {
		return nil
	}
	if !c.server.inFlight.change(c.held, now) {
		return fmt.Errorf("%w: requests and replies in flight of more than %d bytes", errLimit, c.server.limits.TotalBytes)
	}
	c.held = now
	return nil
}

// startWait has a goroutine answer when w ends, if there is a w. All earlier
// replies are sent before.
func (c *conn) startWait(w *waiter) error {
	if w == nil {
		return nil
	}
	err := c.send()
	c.wait, c.told = w, make(chan error, 1)
	c.server.goroutines.Go(func() { c.told <- c.tell(w) })
	return err
}

// tell tells the client that its keys have come, unless the wait is given up.
func (c *conn) tell(w *waiter) error {
	<-w.done
	if w.left > 0 {
		return nil
	}
	var r reply
	r.bytes(stopWaiting)
	err := c.write(&r)
	if err != nil {
		c.hangUp(err) // which ends serveAll
	}
	return err
}

// endWait gives up the client's wait. When it returns, the client has been told
// that the wait has ended, or will not be told. The error is that of telling it.
func (c *conn) endWait() error {
	if c.wait == nil {
		return nil
	}
	c.server.giveUp(c.wait)
	c.wait = nil
	return <-c.told
}

// hangUp closes the connection and logs why. Only the first call has an effect.
func (c *conn) hangUp(why error) {
	c.closed.Do(func() {
		c.server.logEnd(c, why)
		_ = c.Close() // an error would say that the client was faster
	})
}
