package tcpstore

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"
)

// readerBytes is small, since there may be many thousand connections, and
// large values pass the reader by.
const readerBytes = 1 << 10

// conn is one client's connection. A goroutine reads its requests and answers
// them one by one; another one answers a WAIT whose keys are yet to come.
type conn struct {
	net     net.Conn
	table   *table
	decoder decoder
	timeout time.Duration

	inRequest bool // used by Read
	hurried   bool // the request has a deadline
	answered  bool // a request was served: this is no passing stranger

	replying sync.Mutex
	wait     *pendingWait // nil while the client waits for nothing
}

// pendingWait is a WAIT or BARRIER that has not been answered.
type pendingWait struct {
	waiter *waiter
	cancel chan struct{}
	over   chan struct{} // closed when it will not be answered any more
	err    error         // of the answer
}

func newConn(c net.Conn, t *table, arrived *budget) *conn {
	return &conn{
		net: c, table: t, timeout: t.limits.RequestTime,
		decoder: decoder{limits: t.limits, arrived: arrived},
	}
}

// serve answers requests until the client leaves, does not keep to the
// protocol, or wants too much.
func (c *conn) serve() error {
	defer c.decoder.release()
	defer c.endWait()
	var first [1]byte // the silent need no more memory than this
	if _, err := io.ReadFull(c.net, first[:]); err != nil {
		return leaving(err)
	}
	c.decoder.r = bufio.NewReaderSize(c, readerBytes)
	c.inRequest = true
	gen, err := c.decoder.generation(first[0])
	if err != nil {
		return fmt.Errorf("reading the first request: %w", err)
	}
	code := first[0]
	if gen == current {
		if code, err = c.nextCode(); err != nil {
			return leaving(err)
		}
	}
	for {
		if err := c.serveOne(gen, code); err != nil {
			return err
		}
		if code, err = c.nextCode(); err != nil {
			return leaving(err)
		}
	}
}

func (c *conn) serveOne(gen generation, code byte) error {
	q, err := c.decoder.request(gen, code)
	if err != nil {
		return fmt.Errorf("reading a request of code %d: %w", code, err)
	}
	// Only a client that has given up waiting asks for something else.
	if err := c.endWait(); err != nil {
		return err
	}
	if err := c.answer(q); err != nil {
		return fmt.Errorf("answering a request of code %d: %w", code, err)
	}
	c.decoder.release()
	c.answered = true
	return nil
}

// nextCode waits for the next request, for as long as the client likes.
func (c *conn) nextCode() (byte, error) {
	c.inRequest = false
	if c.hurried {
		c.hurried = false
		if err := c.net.SetReadDeadline(time.Time{}); err != nil {
			return 0, err
		}
	}
	code, err := c.decoder.r.ReadByte()
	c.inRequest = true
	return code, err
}

// Read is the decoder's source. The first time that a request is found to be
// incomplete, the rest of it gets a deadline.
func (c *conn) Read(p []byte) (int, error) {
	if c.inRequest && !c.hurried {
		c.hurried = true
		if err := c.net.SetReadDeadline(time.Now().Add(c.timeout)); err != nil {
			return 0, err
		}
	}
	return c.net.Read(p)
}

// leaving is nil for a client that hung up between requests.
func leaving(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return fmt.Errorf("waiting for a request: %w", err)
}

// reply sends an answer. Whoever does not take it in time is cut off.
func (c *conn) reply(parts ...[]byte) error {
	c.replying.Lock()
	defer c.replying.Unlock()
	if err := c.net.SetWriteDeadline(time.Now().Add(c.timeout)); err != nil {
		return err
	}
	if len(parts) == 1 { // a plain write takes less time
		_, err := c.net.Write(parts[0])
		return err
	}
	buffers := net.Buffers(parts)
	_, err := buffers.WriteTo(c.net)
	return err
}

func (c *conn) replyByte(b byte) error { return c.reply([]byte{b}) }

func (c *conn) replyInt(n int) error { return c.reply(number(n)) }

func number(n int) []byte { return binary.LittleEndian.AppendUint64(nil, uint64(n)) }

// replyBlobs sends values, each behind its length. Large ones are not copied.
func (c *conn) replyBlobs(values ...[]byte) error {
	if len(values) == 1 && len(values[0]) < readerBytes {
		return c.reply(append(number(len(values[0])), values[0]...))
	}
	parts := make([][]byte, 0, 2*len(values))
	for _, value := range values {
		parts = append(parts, number(len(value)), value)
	}
	return c.reply(parts...)
}

// replyWhenDone answers a wait: at once when there is no waiter.
func (c *conn) replyWhenDone(w *waiter) error {
	if w == nil {
		return c.replyByte(stopWaiting)
	}
	p := &pendingWait{waiter: w, cancel: make(chan struct{}), over: make(chan struct{})}
	c.wait = p
	go func() {
		defer close(p.over)
		select {
		case <-w.done:
			p.err = c.replyByte(stopWaiting)
		case <-p.cancel:
		}
	}()
	return nil
}

// endWait makes sure that no wait will be answered from now on.
func (c *conn) endWait() error {
	p := c.wait
	if p == nil {
		return nil
	}
	c.wait = nil
	close(p.cancel)
	<-p.over
	c.table.giveUp(p.waiter)
	return p.err
}
