package tcpstore

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// inMemory is a server without a listener, for tests in a bubble of synctest. Its
// clients are pipes, which have no buffers.
type inMemory struct {
	*Server
	t    *testing.T
	logs *observer.ObservedLogs
}

func newInMemory(t *testing.T) inMemory {
	core, logs := observer.New(zap.DebugLevel)
	return inMemory{newServer(defaults(t), zap.New(core)), t, logs}
}

func (s inMemory) connect() *client {
	ours, theirs := net.Pipe()
	s.t.Cleanup(func() { _ = ours.Close() })
	s.admit(theirs)
	c := &client{t: s.t, conn: ours, gen: current}
	c.write(binary.LittleEndian.AppendUint32([]byte{0}, validateMagic))
	return c
}

// hungUpAt waits until the server hangs up, which must be d after begin.
func (c *client) hungUpAt(begin time.Time, d time.Duration) {
	c.t.Helper()
	if n, err := io.Copy(io.Discard, c.conn); n > 0 || err != nil {
		c.t.Errorf("%d bytes, %v", n, err)
	}
	if got := time.Since(begin); got != d {
		c.t.Errorf("the server hung up after %v, want %v", got, d)
	}
}

// A request's time begins with its first byte, and does not begin again while the
// request arrives. Each request has its own.
func TestEveryRequestHasItsTime(t *testing.T) {
	request := encode(current, opAdd, "key", 1)
	for name, test := range map[string]func(t *testing.T, c *client){
		"a request that trickles": func(_ *testing.T, c *client) {
			time.Sleep(time.Hour)
			begin := time.Now()
			c.write(request[:12])
			time.Sleep(40 * time.Second)
			c.write(request[12:15])
			c.hungUpAt(begin, time.Minute)
		},
		"the next request": func(t *testing.T, c *client) {
			c.write(request[:12])
			time.Sleep(40 * time.Second)
			begin := time.Now()
			c.write(append(request[12:len(request):len(request)], request[:12]...))
			if got := c.readInt(); got != 1 {
				t.Errorf("got %d", got)
			}
			c.hungUpAt(begin, time.Minute)
		},
		"silence between requests": func(t *testing.T, c *client) {
			for want := range 3 {
				c.write(request[:12])
				time.Sleep(40 * time.Second)
				c.write(request[12:])
				if got := c.readInt(); got != want+1 {
					t.Errorf("got %d", got)
				}
				time.Sleep(24 * time.Hour)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, newInMemory(t).connect()) })
		})
	}
}

// A client that does not take a reply is hung up on after RequestTime. Other clients
// are served meanwhile.
func TestEveryReplyHasItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newInMemory(t)
		slow, other := s.connect(), s.connect()
		slow.ask(opGet, "k")
		notTaken(t, s, slow, other)
	})
}

// The same holds for the end of a wait. What the client has asked for since is not
// carried out.
func TestTheEndOfAWaitHasItsTime(t *testing.T) {
	for name, since := range map[string]bool{"silent since": false, "asks for more": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newInMemory(t)
				slow, other := s.connect(), s.connect()
				slow.ask(opWait, 1, "go")
				synctest.Wait()
				other.store("go", "")
				if since {
					slow.ask(opAdd, "n", 1)
				}
				notTaken(t, s, slow, other)
			})
		})
	}
}

// The log says that a client left in the middle of a request, and not that it left
// between two.
func TestLeavingInARequestIsLogged(t *testing.T) {
	for said, want := range map[string]int{"": 0, "\x03": 1} {
		synctest.Test(t, func(t *testing.T) {
			s := newInMemory(t)
			c := s.connect()
			c.write([]byte(said))
			_ = c.conn.Close()
			synctest.Wait()
			if got := s.logs.Len(); got != want {
				t.Errorf("after %q %d entries, want %d: %v", said, got, want, s.logs.All())
			}
		})
	}
}

// notTaken expects that the slow client is hung up on in a minute, and that all it
// has added to n is nothing.
func notTaken(t *testing.T, s inMemory, slow, other *client) {
	t.Helper()
	synctest.Wait()
	begin := time.Now()
	time.Sleep(time.Minute - time.Nanosecond)
	other.store("others are served", "")
	if s.logs.Len() != 0 {
		t.Errorf("too early: %v", s.logs.All())
	}
	time.Sleep(time.Nanosecond)
	synctest.Wait()
	slow.hungUpAt(begin, time.Minute)
	if n := s.logs.FilterMessage("the store hangs up on a client").Len(); n != 1 || s.logs.Len() != 1 {
		t.Errorf("said %d times: %v", n, s.logs.All())
	}
	if n := other.add("n", 0); n != 0 {
		t.Errorf("%d requests were carried out", n)
	}
}

// What a client has been sent, and what has been carried out, is not counted any more.
func TestNothingIsHeldInTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newInMemory(t)
		c := s.connect()
		set := encode(current, opSet, "k", strings.Repeat("v", 500))
		c.write(set[:100])
		synctest.Wait()
		if got, want := s.inFlight.free, s.limits.TotalBytes-100; got != want {
			t.Errorf("%d bytes are free during a request, want %d", got, want)
		}
		c.write(set[100:])
		c.ask(opGet, "k")
		synctest.Wait()
		if got, want := s.inFlight.free, s.limits.TotalBytes-508; got >= s.limits.TotalBytes || got > want {
			t.Errorf("%d bytes are free during a reply, want at most %d", got, want)
		}
		if got := len(c.readBlob()); got != 500 {
			t.Errorf("%d bytes came", got)
		}
		synctest.Wait()
		if got := s.inFlight.free; got != s.limits.TotalBytes {
			t.Errorf("%d bytes are free in the end, want %d", got, s.limits.TotalBytes)
		}
	})
}
