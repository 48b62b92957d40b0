package tcpstore

import (
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// Requests arrive whole, in single bytes, or many at once: the answers are
// the same.
func TestRequestsInPiecesOfAnySize(t *testing.T) {
	for _, gen := range []generation{current, legacy} {
		var stream bytes.Buffer
		if gen == current {
			stream.WriteString("\x00\xce\xf7\x85\x3c")
		}
		for _, request := range [][]byte{
			encode(gen, opSet, "k", "value"),
			encode(gen, opMultiSet, 2, "a", "1", "", ""),
			encode(gen, opAdd, "a", 41),
			encode(gen, opMultiGet, 3, "k", "", "a"),
			encode(gen, opCompareSet, "k", "value", "other"),
			encode(gen, opWait, 2, "k", "a"),
			encode(gen, opCheck, 2, "k", "missing"),
		} {
			stream.Write(request)
		}
		want := "\x2a\x00\x00\x00\x00\x00\x00\x00" +
			"\x05\x00\x00\x00\x00\x00\x00\x00value\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x0042" +
			"\x05\x00\x00\x00\x00\x00\x00\x00other\x00\x01"
		for _, size := range []int{1, 2, 7, stream.Len()} {
			t.Run(fmt.Sprintf("generation=%d/size=%d", gen, size), func(t *testing.T) {
				s, _ := serve(t, Limits{})
				c := &client{t: t, conn: dial(t, s), gen: gen}
				for rest := stream.Bytes(); len(rest) > 0; rest = rest[min(size, len(rest)):] {
					c.write(rest[:min(size, len(rest))])
				}
				if got := string(c.read(len(want))); got != want {
					t.Errorf("got\n% x, want\n% x", got, want)
				}
			})
		}
	}
}

// connectSlow connects a client whose socket holds little, however much the
// machine's sockets may hold.
func connectSlow(t *testing.T, s *Server) *client {
	t.Helper()
	c := connect(t, s, current)
	if err := c.conn.(*net.TCPConn).SetReadBuffer(64 << 10); err != nil {
		t.Fatal(err)
	}
	return c
}

// A client that asks for more than its socket holds, and looks at it late,
// gets all of it, in order. It is not served further than it reads, and
// meanwhile others are.
func TestASlowReaderGetsAll(t *testing.T) {
	s, _ := serve(t, Limits{})
	slow, other := connectSlow(t, s), connect(t, s, current)
	large := strings.Repeat("0123456789abcdef", 1<<16)
	other.store("large", large)
	const times = 32
	slow.write(bytes.Repeat(append(encode(current, opGet, "large"), encode(current, opAdd, "n", 1)...), times))
	if n := other.add("n", 0); n == times {
		t.Error("all was answered though nothing was read")
	}
	slow.ask(opWait, 1, "go")
	other.set("go", "")
	for i := range times {
		if slow.readBlob() != large {
			t.Fatalf("value %d is another one", i)
		}
		if got := slow.readInt(); got != i+1 {
			t.Fatalf("sum %d is %d", i+1, got)
		}
	}
	if got := slow.read(1)[0]; got != stopWaiting {
		t.Errorf("got %d", got)
	}
}

// A client that asks for much and takes nothing is cut off, and so is one that
// does not finish what it began to say; others do not notice.
func TestSlowClientsBlockNobody(t *testing.T) {
	s, logs := serve(t, Limits{RequestTime: 300 * time.Millisecond})
	other, slow, unfinished := connect(t, s, current), connectSlow(t, s), connect(t, s, current)
	for range 32 { // in pieces, each of which is there in time
		other.ask(opAppend, "large", string(make([]byte, 256<<10)))
	}
	other.add("n", 0)
	slow.write(bytes.Repeat(encode(current, opGet, "large"), 16))
	if n := other.add("n", 1); n != 1 {
		t.Errorf("got %d", n)
	}
	unfinished.write(encode(current, opSet, "k", 100))
	unfinished.hungUp()
	for deadline := time.Now().Add(testTimeout); logs.FilterMessage("the store hangs up on a client").Len() < 2; {
		if n := other.add("n", 0); n != 1 { // and the silent are not cut off
			t.Errorf("got %d", n)
		}
		if time.Now().After(deadline) {
			t.Fatalf("the slow one is still there: %v", logs.All())
		}
	}
}

// What a client is owed, and what it has not finished to say, is counted.
func TestWhatIsUnderWayIsLimited(t *testing.T) {
	s, logs := serve(t, Limits{TotalBytes: 1 << 20})
	var unfinished []*client
	for range 8 { // a request may take a quarter of the total
		c := connect(t, s, current)
		// An error is that the store has hung up already.
		_, _ = c.conn.Write(append(encode(current, opSet, "k", 200<<10), make([]byte, 190<<10)...))
		unfinished = append(unfinished, c)
	}
	other := connect(t, s, current)
	if n := other.add("n", 1); n != 1 {
		t.Errorf("got %d", n)
	}
	hungUp := func() int { return logs.FilterMessage("the store hangs up on a client").Len() }
	for deadline := time.Now().Add(testTimeout); hungUp() < 3; other.add("n", 0) {
		if time.Now().After(deadline) { // five have room, before any has finished
			t.Fatalf("all are still there: %v", logs.All())
		}
	}
	finished := 0
	for _, c := range unfinished {
		if _, err := c.conn.Write(make([]byte, 10<<10)); err != nil {
			continue
		}
		c.ask(opPing)
		if _, err := c.conn.Write([]byte("ping")); err != nil {
			continue
		}
		if _, err := io.ReadFull(c.conn, make([]byte, 4)); err == nil {
			finished++
		}
	}
	if finished == 0 || finished > 5 {
		t.Errorf("%d of 8 were served", finished)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if s.inFlight.free != 1<<20 {
		t.Errorf("%d bytes are free in the end", s.inFlight.free)
	}
}

// Announcing a value takes no memory before it comes.
func TestAnnouncementsTakeNoMemory(t *testing.T) {
	s, _ := serve(t, Limits{})
	const n = 100 // of 8 MiB: more than the total
	for range n {
		connect(t, s, current).write(encode(current, opSet, "k", 8<<20))
	}
	other := connect(t, s, current)
	if got := other.numKeys(); got != 0 {
		t.Errorf("%d keys", got)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// One client waits for ten thousand keys, and ten thousand keys are waited for
// one by one.
func TestTenThousandKeysAreWaitedFor(t *testing.T) {
	s, _ := serve(t, Limits{})
	const n = 10_000
	all, one, other := connect(t, s, current), connect(t, s, legacy), connect(t, s, current)
	keys := []any{n}
	for i := range n {
		keys = append(keys, fmt.Sprint(i))
	}
	all.ask(opWait, keys...)
	other.ask(opCheck, keys...)
	if got := other.read(1)[0]; got != notReady {
		t.Errorf("got %d", got)
	}
	for i := range n {
		one.ask(opWait, 1, fmt.Sprint(i))
		other.set(fmt.Sprint(i), "")
		if got := one.read(1)[0]; got != stopWaiting {
			t.Fatalf("key %d: got %d", i, got)
		}
	}
	if got := all.read(1)[0]; got != stopWaiting {
		t.Errorf("got %d", got)
	}
}

// A client that resets its connection while it is owed a reply is gone.
func TestAResetWhileBlocked(t *testing.T) {
	s, logs := serve(t, Limits{})
	slow, other := connectSlow(t, s), connect(t, s, current)
	other.store("large", strings.Repeat("v", 8<<20))
	slow.write(bytes.Repeat(encode(current, opGet, "large"), 4))
	slow.read(1)
	if err := slow.conn.(*net.TCPConn).SetLinger(0); err != nil {
		t.Fatal(err)
	}
	if err := slow.conn.Close(); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(testTimeout); logs.FilterMessage("the store hangs up on a client").Len() == 0; {
		other.add("n", 1)
		if time.Now().After(deadline) {
			t.Fatal("the store has not noticed")
		}
	}
}

// Clients that wait, that are owed a reply, that are in the middle of a request
// or silent, take no processor time. A store that spins takes all it gets.
func TestAnIdleStoreSleeps(t *testing.T) {
	s, _ := serve(t, Limits{})
	waiting, slow, half, silent := connect(t, s, current), connectSlow(t, s), connect(t, s, current), connect(t, s, legacy)
	waiting.ask(opWait, 1, "never")
	silent.store("large", strings.Repeat("v", 8<<20))
	slow.write(bytes.Repeat(encode(current, opGet, "large"), 8))
	half.write(encode(current, opSet, "k", 100))
	slow.read(1)
	slow.ask(opGet, "large") // which the store leaves where it is
	silent.write(bytes.Repeat(encode(legacy, opSet, "key", "value"), 1000))
	silent.numKeys() // the others' bytes were there before
	const window = 400 * time.Millisecond
	before := processorTime(t)
	<-time.After(window)
	if used := processorTime(t) - before; used > window/4 {
		t.Errorf("the idle process used %v within %v", used, window)
	}
}

func processorTime(t *testing.T) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
