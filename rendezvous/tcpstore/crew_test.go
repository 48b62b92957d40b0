package tcpstore

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

// together is a loop whose crew shares all work, and is not run.
func together(t *testing.T) *loop {
	t.Helper()
	l, err := newLoop(defaults(t), zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	l.crew = crew{helpers: 2, from: 1}
	t.Cleanup(l.end)
	return l
}

// peer is the other end of a new client of the loop's.
func peer(t *testing.T, l *loop) (*conn, int) {
	t.Helper()
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(pair[1]) })
	c := &conn{loop: l, fd: pair[0], peer: &pairAddr{}, greeted: true}
	l.conns[int32(c.fd)] = c
	return c, pair[1]
}

type pairAddr struct{}

func (*pairAddr) Network() string { return "unix" }
func (*pairAddr) String() string  { return "a pair" }

func say(t *testing.T, fd int, requests ...[]byte) {
	t.Helper()
	for _, r := range requests {
		if n, err := unix.Write(fd, r); err != nil || n != len(r) {
			t.Fatal(n, err)
		}
	}
}

// heard is all that a client was sent, nothing when it was hung up on.
func heard(t *testing.T, fd int) string {
	t.Helper()
	b := make([]byte, 1<<20)
	n, err := unix.Read(fd, b)
	if err != nil && !errors.Is(err, unix.EAGAIN) {
		t.Fatal(err)
	}
	return string(b[:max(n, 0)])
}

// A wait that is given up in the round in which it ends is answered before the
// word that it is given up, or not at all.
func TestACrewAnswersInOrder(t *testing.T) {
	for _, tt := range []struct {
		name       string
		waitsFirst bool
		want       string
	}{
		{"the key comes first", false, "\x00\x01"},
		{"it is given up first", true, "\x01"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := together(t)
			waits, waiting := peer(t, l)
			sets, setting := peer(t, l)
			say(t, waiting, encode(current, opWait, 1, "k"))
			l.serveTogether([]*conn{waits})
			say(t, waiting, encode(current, opCancelWait))
			say(t, setting, encode(current, opSet, "k", "v"))
			ready := []*conn{sets, waits}
			if tt.waitsFirst {
				ready = []*conn{waits, sets}
			}
			l.serveTogether(ready)
			if got := heard(t, waiting); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// Nobody is sent what was meant for one that is gone, whose descriptor may be another's by then.
func TestACrewForgetsThoseWhoAreGone(t *testing.T) {
	l := together(t)
	c, fd := peer(t, l)
	l.crew.answering = true
	c.out.number(7)
	if err := c.send(); err != nil || len(l.crew.replies) != 1 {
		t.Fatalf("%d replies are kept, %v", len(l.crew.replies), err)
	}
	l.crew.answering = false
	c.gone = true
	l.answerTogether()
	if got := heard(t, fd); got != "" {
		t.Errorf("sent %q", got)
	}
	say(t, fd, encode(current, opGetNumKeys))
	l.serveTogether([]*conn{c})
	if got, left := heard(t, fd), heard(t, c.fd); got != "" || left == "" {
		t.Errorf("answered with %q, and left %q", got, left)
	}
}

// Who is hung up on, or says that there is no more to come, behind what it has asked for, is answered before, as without a crew.
func TestACrewAnswersBeforeItHangsUp(t *testing.T) {
	value := strings.Repeat("v", 200)
	get := encode(current, opGet, "k")
	set := func(size int) []byte { // a request of so many bytes
		return encode(current, opSet, "k", strings.Repeat("v", size-len(encode(current, opSet, "k", ""))))
	}
	for name, said := range map[string][][]byte{
		"an error":           {encode(current, opSet, "k", value), get, {99}},
		"an end, all read":   {set(crewReadBytes - len(get)), get},
		"an end, less read":  {encode(current, opSet, "k", value), get},
		"an end, more comes": {set(crewReadBytes), get},
	} {
		answers := map[bool]int{}
		for _, alone := range []bool{true, false} {
			l := together(t)
			c, fd := peer(t, l)
			say(t, fd, said...)
			if err := unix.Shutdown(fd, unix.SHUT_WR); err != nil {
				t.Fatal(err)
			}
			for range 3 { // rounds
				switch {
				case c.gone:
				case alone:
					l.dismissOn(c.ready(false), c)
				default:
					if err := l.serveTogether([]*conn{c}); err != nil {
						t.Fatal(err)
					}
				}
			}
			answers[alone] = len(heard(t, fd))
		}
		if answers[true] < len(value) || answers[false] != answers[true] {
			t.Errorf("%s: %d bytes of answers by a crew, %d without", name, answers[false], answers[true])
		}
	}
}

// One who is hung up on when its wait ends is not served with what it has said since.
func TestACrewDoesNotServeThoseWhoAreGone(t *testing.T) {
	l := together(t)
	waits, waiting := peer(t, l)
	sets, setting := peer(t, l)
	say(t, waiting, encode(current, opWait, 1, "k"))
	l.serveTogether([]*conn{waits})
	say(t, waiting, encode(current, opGetNumKeys))
	say(t, setting, encode(current, opSet, "k", "v"))
	l.underWay.free, l.requests = 0, 0
	l.serveTogether([]*conn{sets, waits})
	if !waits.gone || l.requests != 1 {
		t.Errorf("gone: %v, and %d requests were served", waits.gone, l.requests)
	}
}

// Who does not speak the protocol is hung up on, and those beside it do not notice.
func TestACrewHangsUp(t *testing.T) {
	l := together(t)
	core, logs := observer.New(zap.DebugLevel)
	l.log = zap.New(core)
	var conns []*conn
	var fds []int
	for i := range 8 {
		c, fd := peer(t, l)
		conns, fds = append(conns, c), append(fds, fd)
		say(t, fd, encode(current, opAdd, fmt.Sprint(i), i))
	}
	say(t, fds[3], []byte{255})
	l.serveTogether(conns)
	for i, fd := range fds {
		want := string(encode(current, 0, i)[1:]) // what it asked before is answered
		if got := heard(t, fd); got != want {
			t.Errorf("client %d got %q, want %q", i, got, want)
		}
	}
	if len(l.conns) != 7 || logs.Len() != 1 {
		t.Errorf("%d clients are left, and it was said %d times", len(l.conns), logs.Len())
	}
}

// What is owed for replies that are kept is given back with them.
func TestACrewOwesNothingInTheEnd(t *testing.T) {
	l := together(t)
	c, fd := peer(t, l)
	say(t, fd, encode(current, opSet, "k", strings.Repeat("v", 500)), encode(current, opGet, "k"))
	l.serveTogether([]*conn{c})
	if got := len(heard(t, fd)); got != 508 || c.held != 0 || l.underWay.free != l.limits.TotalBytes {
		t.Errorf("%d bytes came, and %d are held", got, c.held)
	}
}

// All that clients do at once has the outcome that it has one after the other.
func TestACrewServesManyClients(t *testing.T) {
	s, err := Serve(context.Background(), listen(t), Options{crew: &crew{helpers: 3, from: 2}})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	const clients, calls = 32, 50
	large := strings.Repeat("x", 5*crewReadBytes)
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
				if got := c.get(other); !strings.HasPrefix(got, fmt.Sprint(n)) || len(got) != len(fmt.Sprint(n))+len(large)*(n%5)/4 {
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

// The machine is the workers', not the store's.
func TestACrewIsSmall(t *testing.T) {
	w := newCrew()
	if 1+w.helpers > 1+runtime.NumCPU()/processorsPerHelper || w.helpers > mostHelpers {
		t.Errorf("%d helpers on %d processors", w.helpers, runtime.NumCPU())
	}
	if w.wanted(crewFrom-1) || (&crew{from: 1}).wanted(100) || !(&crew{helpers: 1, from: 2}).wanted(2) {
		t.Error("wanted for too few, or not for enough")
	}
}
