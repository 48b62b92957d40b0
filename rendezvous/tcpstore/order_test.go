package tcpstore

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
)

// A wait that is given up after it has ended is answered before the cancellation.
// A wait that is given up before it ends is not answered.
func TestAWaitIsAnsweredBeforeItsCancellation(t *testing.T) {
	for _, tt := range []struct {
		name       string
		waitsFirst bool
		want       string
	}{
		{"the key comes first", false, "\x00\x01"},
		{"it is given up first", true, "\x01"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, _ := serve(t, Limits{})
			waiting, other := connect(t, s, current), connect(t, s, current)
			waiting.ask(opWait, 1, "k")
			awaitWaiters(t, s, 1)
			if tt.waitsFirst {
				waiting.ask(opCancelWait)
				awaitWaiters(t, s, 0)
			}
			other.store("k", "v")
			if !tt.waitsFirst {
				waiting.ask(opCancelWait)
			}
			waiting.answers(tt.want)
		})
	}
	t.Run("at the same time", func(t *testing.T) {
		s, _ := serve(t, Limits{})
		waiting, other := connect(t, s, current), connect(t, s, current)
		for i := range 500 {
			key := fmt.Sprint(i)
			waiting.ask(opWait, 1, key)
			var g errgroup.Group
			g.Go(func() error { other.store(key, ""); return nil })
			waiting.ask(opCancelWait)
			if b := waiting.read(1)[0]; b == stopWaiting {
				waiting.answers("\x01")
			} else {
				waiting.answers("")
			}
			if err := g.Wait(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// answers expects these bytes, and that no others are under way.
func (c *client) answers(want string) {
	c.t.Helper()
	c.ask(opPing)
	c.write([]byte("ping"))
	if got := string(c.read(len(want) + 4)); got != want+"ping" {
		c.t.Fatalf("got %q, want %q before the ping", got, want)
	}
}

// awaitWaiters waits until so many keys are waited for.
func awaitWaiters(t *testing.T, s *Server, n int) {
	t.Helper()
	c := connect(t, s, current)
	for {
		c.numKeys()
		s.mu.Lock()
		got := len(s.table.waiters)
		s.mu.Unlock()
		if got == n {
			return
		}
	}
}

// What a client has asked for is answered before the server hangs up, because of
// an error or because the client has no more to say.
func TestRequestsAreAnsweredBeforeTheEnd(t *testing.T) {
	value := strings.Repeat("v", 200)
	get := encode(current, opGet, "k")
	set := func(size int) []byte { // a request of so many bytes
		return encode(current, opSet, "k", strings.Repeat("v", size-len(encode(current, opSet, "k", ""))))
	}
	for name, said := range map[string][][]byte{
		"an error":           {encode(current, opSet, "k", value), get, {99}},
		"an end, all read":   {set(readBytes - len(get)), get},
		"an end, less read":  {encode(current, opSet, "k", value), get},
		"an end, more comes": {set(readBytes), get},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := serve(t, Limits{})
			c := connect(t, s, current)
			c.numKeys()
			var all []byte
			for _, b := range said {
				all = append(all, b...)
			}
			c.write(all)
			if err := c.conn.(*net.TCPConn).CloseWrite(); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(c.conn)
			if want := 8 + len(said[0]) - len(encode(current, opSet, "k", "")); err != nil || len(got) != want {
				t.Errorf("%d bytes of answers, want %d (%v)", len(got), want, err)
			}
		})
	}
}

// A client that does not speak the protocol is hung up on, after what it asked for
// before is answered. The other clients do not notice.
func TestOneOfManyIsHungUpOn(t *testing.T) {
	s, logs := serve(t, Limits{})
	var clients []*client
	for i := range 8 {
		c := connect(t, s, current)
		clients = append(clients, c)
		request := encode(current, opAdd, fmt.Sprint(i), i)
		if i == 3 {
			request = append(request, 255)
		}
		c.write(request)
	}
	for i, c := range clients {
		if got := c.readInt(); got != i {
			t.Errorf("client %d got %d", i, got)
		}
	}
	clients[3].hungUp()
	for i, c := range clients {
		if i != 3 && c.numKeys() != 8 {
			t.Errorf("client %d misses keys", i)
		}
	}
	if n := logs.FilterMessage("the store hangs up on a client").FilterLevelExact(zap.DebugLevel).Len(); n != 1 ||
		logs.Len() != 1 {
		t.Errorf("said %d times: %v", n, logs.All())
	}
}

// All that clients do at once has the outcome that it has one after the other.
func TestManyClientsAtOnce(t *testing.T) {
	s, _ := serve(t, Limits{})
	const clients, calls = 32, 50
	large := strings.Repeat("x", 40<<10)
	var g errgroup.Group
	for i := range clients {
		c := connect(t, s, generation(i%2))
		g.Go(func() error {
			for n := range calls {
				mine, other := fmt.Sprintf("%d.%d", i, n), fmt.Sprintf("%d.%d", i^1, n)
				c.set(mine, fmt.Sprint(n, large[:len(large)*(n%5)/4]))
				c.ask(opWait, 1, other)
				if b := c.read(1)[0]; b != stopWaiting {
					return fmt.Errorf("a wait ended with %d", b)
				}
				if got := c.get(other); !strings.HasPrefix(got, fmt.Sprint(n)) ||
					len(got) != len(fmt.Sprint(n))+len(large)*(n%5)/4 {
					return fmt.Errorf("client %d got %.20q... of %d bytes", i, got, len(got))
				}
				c.add("calls", 1)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
	if n := connect(t, s, current).add("calls", 0); n != clients*calls {
		t.Errorf("%d calls, want %d", n, clients*calls)
	}
}

// A client that sends many SETs is served, and so are the others meanwhile.
func TestStreamsAreServed(t *testing.T) {
	s, _ := serve(t, Limits{})
	streaming, other := connect(t, s, current), connect(t, s, current)
	for range 200 {
		streaming.write([]byte(strings.Repeat(string(encode(current, opSet, "key", "value")), 32)))
		other.numKeys()
	}
	streaming.set("last", "v")
	if got := streaming.get("last"); got != "v" {
		t.Errorf("the last SET of a stream has left %q", got)
	}
	if got := other.get("last"); got != "v" {
		t.Errorf("others see %q", got)
	}
}
