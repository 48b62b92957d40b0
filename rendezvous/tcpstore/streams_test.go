package tcpstore

import (
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// watched is a client of a loop that is not run, whom the loop watches.
func watched(t *testing.T, l *loop) (*conn, int) {
	t.Helper()
	c, fd := peer(t, l)
	c.gen = current
	if err := l.poller.watch(c.fd); err != nil {
		t.Fatal(err)
	}
	return c, fd
}

func idle(t *testing.T) *loop {
	t.Helper()
	l, err := newLoop(defaults(t), zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(l.end)
	return l
}

// serveOnce is what run does for a client who is ready.
func serveOnce(t *testing.T, l *loop, c *conn) {
	t.Helper()
	l.dismissOn(c.ready(false), c)
	if err := l.restIfStreaming(c); err != nil {
		t.Fatal(err)
	}
}

// woken says for whom a wait of so long ends: clients, or the alarm.
func woken(t *testing.T, l *loop, d time.Duration) (clients []*conn, alarm bool) {
	t.Helper()
	events := make([]unix.EpollEvent, 8)
	n, err := l.poller.wait(events, d)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events[:n] {
		if e.Fd == int32(l.poller.alarm) {
			alarm = true
		} else {
			clients = append(clients, l.conns[e.Fd])
		}
	}
	return clients, alarm
}

func sets(n int) []byte {
	return []byte(strings.Repeat(string(encode(current, opSet, "key", "value")), n))
}

// Who streams is not listened to before the end of the nap, and then served; others are
// served meanwhile. Who falls silent is listened to again.
func TestStreamsRest(t *testing.T) {
	l := idle(t)
	streams, streaming := watched(t, l)
	other, asking := watched(t, l)
	say(t, streaming, sets(streamLength))
	serveOnce(t, l, streams)
	if !streams.stream.resting {
		t.Fatalf("after %d SETs a client does not rest", streamLength)
	}
	say(t, streaming, sets(1))
	serveOnce(t, l, streams) // as when something has happened to its connection
	if n := len(l.streams.resting); n != 1 {
		t.Fatalf("a client rests %d times", n)
	}
	say(t, streaming, sets(1), encode(current, opGetNumKeys))
	say(t, asking, encode(current, opGetNumKeys))
	if clients, _ := woken(t, l, 0); len(clients) != 1 || clients[0] != other {
		t.Fatalf("%d clients are listened to; want the one who does not stream", len(clients))
	}
	serveOnce(t, l, other)
	if _, alarm := woken(t, l, time.Second); !alarm {
		t.Fatal("the nap does not end")
	}
	if err := l.endNap(); err != nil {
		t.Fatal(err)
	}
	if got := heard(t, streaming); len(got) != 8 || streams.stream.resting {
		t.Fatalf("at the end of the nap %d bytes were answered, want 8; goes on resting: %v", len(got), streams.stream.resting)
	}
	say(t, streaming, encode(current, opGetNumKeys))
	if clients, _ := woken(t, l, 0); len(clients) != 1 || clients[0] != streams {
		t.Errorf("%d clients are listened to after the nap, want the one who rested", len(clients))
	}
}

// A stream that goes on is served at the end of each nap, without being watched between. Then
// the store is idle.
func TestStreamsGoOnResting(t *testing.T) {
	l := idle(t)
	c, fd := watched(t, l)
	for nap := range 5 {
		say(t, fd, sets(streamLength))
		if nap == 0 {
			serveOnce(t, l, c)
			continue
		}
		if clients, alarm := woken(t, l, time.Second); len(clients) != 0 || !alarm {
			t.Fatalf("nap %d ended with %d clients, by the alarm: %v", nap, len(clients), alarm)
		}
		if err := l.endNap(); err != nil {
			t.Fatal(err)
		}
	}
	if c.stream.length != 5*streamLength || !c.stream.resting {
		t.Errorf("%d SETs were served, rests: %v; want %d by a client that rests", c.stream.length, c.stream.resting, 5*streamLength)
	}
	woken(t, l, time.Second)
	if err := l.endNap(); err != nil {
		t.Fatal(err)
	}
	if c.stream.resting {
		t.Error("rests although it was silent for a whole nap")
	}
	if clients, alarm := woken(t, l, 10*time.Millisecond); len(clients) > 0 || alarm {
		t.Error("an idle store is woken")
	}
}

// A client that leaves during a nap is noticed, and forgotten at its end.
func TestStreamsEnd(t *testing.T) {
	l := idle(t)
	c, fd := watched(t, l)
	say(t, fd, sets(streamLength))
	serveOnce(t, l, c)
	if err := unix.Shutdown(fd, unix.SHUT_RDWR); err != nil {
		t.Fatal(err)
	}
	alarmed := false
	for !alarmed {
		clients, alarm := woken(t, l, time.Second)
		for _, c := range clients {
			serveOnce(t, l, c)
		}
		if alarmed = alarm; len(clients) == 0 && !alarm {
			t.Fatal("neither the client nor the end of the nap is noticed")
		}
	}
	if err := l.endNap(); err != nil {
		t.Fatal(err)
	}
	if !c.gone || len(l.streams.resting) != 0 {
		t.Errorf("gone: %v, and %d clients rest", c.gone, len(l.streams.resting))
	}
}

// Who waits for answers, sends much at a time, or more than is read at once, does not rest.
func TestOthersDoNotRest(t *testing.T) {
	large := strings.Repeat("x", smallRequest)
	for name, requests := range map[string][]byte{
		"too few":               sets(streamLength - 1),
		"with an answer":        append(sets(streamLength), encode(current, opGetNumKeys)...),
		"a large one among":     append(append(sets(streamLength), encode(current, opSet, "key", large)...), sets(streamLength-1)...),
		"large ones":            []byte(strings.Repeat(string(encode(current, opSet, "key", large)), 2*streamLength)),
		"more than fits a read": sets(readBytes/len(sets(1)) + 1),
	} {
		t.Run(name, func(t *testing.T) {
			l := idle(t)
			c, fd := watched(t, l)
			say(t, fd, requests)
			serveOnce(t, l, c)
			if c.stream.resting || len(l.streams.resting) != 0 {
				t.Error("rests")
			}
		})
	}
}

// A nap is a part of what the stream has taken, of which each answer takes something off.
func TestNaps(t *testing.T) {
	var s stream
	for range 100 {
		s.request(30)
	}
	if got, want := s.nap(), 100*napPerRequest; got != want {
		t.Errorf("a nap of %v after 100 SETs, want %v", got, want)
	}
	s.answered()
	if got, want := s.nap(), (100-streamLength)*napPerRequest; got != want || s.length != 0 {
		t.Errorf("a nap of %v and a length of %d after an answer, want %v and 0", got, s.length, want)
	}
}

// However long the stream, naps end; the more processors there are, the sooner.
func TestLongestNap(t *testing.T) {
	for processors, want := range map[int]time.Duration{1: 4 * time.Millisecond, 2: 2 * time.Millisecond, 32: 125 * time.Microsecond, 256: 100 * time.Microsecond} {
		if got := longestNap(processors); got != want {
			t.Errorf("with %d processors %v, want %v", processors, got, want)
		}
	}
	l := idle(t)
	c, fd := watched(t, l)
	c.stream.total = 1 << 40
	say(t, fd, sets(streamLength))
	serveOnce(t, l, c)
	if _, alarm := woken(t, l, 5*time.Second); !alarm {
		t.Error("a nap does not end")
	}
}

// What has been streamed is there for whoever asks, and nobody else waits for the naps.
func TestStreamsAreServed(t *testing.T) {
	s, _ := serve(t, defaults(t))
	streaming, other := connect(t, s, current), connect(t, s, current)
	for range 200 {
		streaming.write(sets(streamLength))
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
