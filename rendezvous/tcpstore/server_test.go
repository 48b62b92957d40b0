package tcpstore

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
)

func TestBothGenerationsShareTheStore(t *testing.T) {
	s, _ := serve(t, Limits{})
	today, old := connect(t, s, current), connect(t, s, legacy)
	today.set("a", "1")
	if got := today.add("a", 1); got != 2 {
		t.Errorf("got %d", got)
	}
	if got := old.get("a"); got != "2" {
		t.Errorf("got %q", got)
	}
	old.set("b", "x")
	if old.numKeys() != 2 || today.get("b") != "x" {
		t.Errorf("b is %q", today.get("b"))
	}
}

func TestWaitIsWokenByWhateverMakesKeys(t *testing.T) {
	for _, tt := range []struct {
		op        operation
		arguments []any
	}{
		{opSet, []any{"k", ""}},
		{opCompareSet, []any{"k", "", "v"}},
		{opAdd, []any{"k", 1}},
		{opAppend, []any{"k", "v"}},
		{opMultiSet, []any{1, "k", "v"}},
		{opQueuePush, []any{"k", "v"}},
	} {
		t.Run(fmt.Sprint(tt.op), func(t *testing.T) {
			s, _ := serve(t, Limits{})
			waiting, other := connect(t, s, current), connect(t, s, current)
			waiting.ask(opWait, 2, "k", "there")
			other.set("there", "")
			other.ask(tt.op, tt.arguments...)
			if got := waiting.read(1)[0]; got != stopWaiting {
				t.Errorf("got %d", got)
			}
		})
	}
}

// Neither kind of client is answered twice, or late, when it gives up a wait.
func TestAWaitGivenUpIsNotAnswered(t *testing.T) {
	for _, gen := range []generation{current, legacy} {
		s, _ := serve(t, Limits{})
		waiting, other := connect(t, s, gen), connect(t, s, gen)
		waiting.ask(opWait, 1, "k")
		waiting.ask(opCancelWait)
		if got := waiting.read(1)[0]; got != waitCanceled {
			t.Errorf("got %d", got)
		}
		waiting.ask(opWait, 1, "k")
		if n := waiting.numKeys(); n != 0 {
			t.Errorf("%d keys", n)
		}
		other.set("k", "v")
		if n := other.numKeys(); n != 1 {
			t.Errorf("%d keys", n)
		}
		if got := waiting.get("k"); got != "v" {
			t.Errorf("got %q", got)
		}
	}
}

// A client that goes away while it waits leaves nothing behind.
func TestWaitEndsWithItsConnection(t *testing.T) {
	s, _ := serve(t, Limits{})
	c := connect(t, s, current)
	c.ask(opWait, 2, "a", "b")
	if err := c.conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	c.hungUp()
	if err := s.Close(); err != nil { // now the table may be looked at
		t.Fatal(err)
	}
	if table := s.table; len(table.waiters) != 0 || table.bytes != 0 {
		t.Errorf("waits for %d keys, %d bytes", len(table.waiters), table.bytes)
	}
}

func TestBadClientsDisturbNobody(t *testing.T) {
	for name, words := range map[string]string{
		"http":         "GET / HTTP/1.1\r\nHost: store\r\n\r\n",
		"tls":          "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
		"ssh":          "SSH-2.0-OpenSSH_9.2\r\n",
		"wrong magic":  "\x00\xde\xad\xbe\xef\x00\x00\x00\x00",
		"unknown code": "\x00\xce\xf7\x85\x3c\x63",
		"watch key":    "\x07\x01\x00\x00\x00\x00\x00\x00\x00k",
		"huge key":     "\x02\xff\xff\xff\xff\xff\xff\xff\xff",
		"add to a word": "\x00\x01\x00\x00\x00\x00\x00\x00\x00w\x04\x00\x00\x00\x00\x00\x00\x00word" +
			"\x03\x01\x00\x00\x00\x00\x00\x00\x00w\x01\x00\x00\x00\x00\x00\x00\x00",
		"zeroes":          strings.Repeat("\x00", 9) + strings.Repeat("\x00", 8) + "\xff",
		"validate, twice": "\x00\xce\xf7\x85\x3c\x00\xce\xf7\x85\x3c",
	} {
		t.Run(name, func(t *testing.T) {
			s, logs := serve(t, Limits{})
			waiting, other := connect(t, s, current), connect(t, s, current)
			waiting.ask(opWait, 1, "k")
			intruder := &client{t: t, conn: dial(t, s)}
			intruder.write([]byte(words))
			intruder.hungUp()
			other.set("k", "v")
			if got := waiting.read(1)[0]; got != stopWaiting {
				t.Errorf("got %d", got)
			}
			if err := s.Close(); err != nil { // all has been said then
				t.Error(err)
			}
			if n := logs.FilterMessage("the store hangs up on a client").FilterLevelExact(zap.DebugLevel).Len(); n != 1 {
				t.Errorf("said %d times: %v", n, logs.All())
			}
		})
	}
}

func TestConnectionsAreLimited(t *testing.T) {
	s, logs := serve(t, Limits{Connections: 2})
	first, second := connect(t, s, current), connect(t, s, current)
	first.numKeys()
	second.numKeys()
	for range 3 {
		(&client{t: t, conn: dial(t, s)}).hungUp()
	}
	if n := logs.FilterMessage("the store refuses more connections").Len(); n != 1 {
		t.Errorf("said %d times", n)
	}
	_ = second.conn.Close()
	third := admitted(t, s)
	if n := third.numKeys(); n != 0 {
		t.Errorf("%d keys", n)
	}
}

// admitted connects as often as it takes: the end of a connection is noticed
// when it is, and until then there is no place.
func admitted(t *testing.T, s *Server) *client {
	t.Helper()
	for deadline := time.Now().Add(testTimeout); time.Now().Before(deadline); {
		c := &client{t: t, conn: dial(t, s), gen: current}
		first := slices.Concat(validation(), encode(c.gen, opPing), []byte("ping"))
		if _, err := c.conn.Write(first); err != nil { // whoever is refused may be reset while it writes
			continue
		}
		if _, err := io.ReadFull(c.conn, make([]byte, 4)); err == nil {
			return c
		}
	}
	t.Fatal("nobody is admitted any more")
	return nil
}

// A store that is full says so, to its owner and by hanging up, and goes on.
func TestTotalIsLimited(t *testing.T) {
	s, logs := serve(t, Limits{TotalBytes: 10_000})
	c := connect(t, s, current)
	for i := range 4 {
		c.set(fmt.Sprint(i), strings.Repeat("v", 2000))
	}
	if n := c.numKeys(); n != 4 {
		t.Fatalf("%d keys", n)
	}
	c.set("one more", strings.Repeat("v", 2000))
	c.hungUp()
	again := connect(t, s, current)
	again.ask(opDeleteKey, "0")
	if again.readInt() != 1 {
		t.Error("not deleted")
	}
	again.set("one more", strings.Repeat("v", 2000))
	if n := again.numKeys(); n != 4 {
		t.Errorf("%d keys", n)
	}
	if err := s.Close(); err != nil { // all has been said then
		t.Error(err)
	}
	if n := logs.FilterLevelExact(zap.WarnLevel).Len(); n != 1 {
		t.Errorf("warned %d times: %v", n, logs.All())
	}
}

func TestManyClients(t *testing.T) {
	s, _ := serve(t, Limits{})
	const n = 2000 // and as many sockets on this side
	clients := make([]*client, n)
	for i := range clients {
		clients[i] = connect(t, s, []generation{current, legacy}[i%2])
		clients[i].ask(opWait, 2, "go", fmt.Sprint(i))
	}
	other := connect(t, s, current)
	for i := range n {
		other.set(fmt.Sprint(i), "")
	}
	other.set("go", "")
	for i, c := range clients {
		if got := c.read(1)[0]; got != stopWaiting {
			t.Fatalf("client %d got %d", i, got)
		}
	}
}

func TestAddsOfManyClients(t *testing.T) {
	s, _ := serve(t, Limits{})
	const clients, adds = 16, 50
	var group errgroup.Group
	for range clients {
		c := connect(t, s, current)
		group.Go(func() error {
			for range adds {
				c.add("n", 1)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if got := connect(t, s, current).get("n"); got != fmt.Sprint(clients*adds) {
		t.Errorf("got %s, want %d", got, clients*adds)
	}
}

// Close ends clients that wait, clients in the middle of a request, and silent
// clients. So does the end of the context.
func TestEnd(t *testing.T) {
	for name, byContext := range map[string]bool{"close": false, "context": true} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			s, err := Serve(ctx, listen(t), Options{})
			if err != nil {
				t.Fatal(err)
			}
			waiting, half, silent := connect(t, s, current), connect(t, s, legacy), connect(t, s, legacy)
			waiting.numKeys()
			waiting.ask(opWait, 1, "never")
			half.write([]byte{2, 1, 0})
			if byContext {
				cancel()
			} else if err := s.Close(); err != nil {
				t.Error(err)
			}
			waiting.hungUp()
			half.hungUp()
			silent.hungUp()
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if conn, err := net.Dial("tcp", s.Addr().String()); err == nil {
				t.Error("somebody still listens")
				_ = conn.Close()
			}
		})
	}
}

func TestNegativeLimitsAreRefused(t *testing.T) {
	l := listen(t)
	if s, err := Serve(context.Background(), l, Options{Limits: Limits{KeyBytes: -1}}); err == nil {
		t.Errorf("served on %v", s.Addr())
	}
	if conn, err := l.Accept(); err == nil {
		t.Error("the listener is still open")
		_ = conn.Close()
	}
}
