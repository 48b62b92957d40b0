package tcpstore

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// A letter is what the loop met with before a sleep: s for requests that come
// rarely, d for dense ones that looking does not find, f for those that it
// finds. Upper case says that the loop looked.
func TestPaceLooksWhileItPays(t *testing.T) {
	for _, tt := range []struct{ name, requests, want string }{
		{"an idle store sleeps", "sssss", "sssss"},
		{"dense requests are looked for, from the second on", "dffff", "dFFFF"},
		{"and no more once they are rare", "dffsssfs", "dFFSssfS"},
		{"in vain: after 1, 3, 7 sleeps", "ddddddddddddddddd", "dDdDdddDdddddddDd"},
		{"what is found makes up for what was not", "dddddddd" + "fffffff" + "fffffff" + "dddddd", "dDdDdddD" + "fffffff" + "FFFFFFF" + "DdDddd"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p pace
			var got strings.Builder
			for _, request := range tt.requests {
				got.WriteRune(meet(&p, request))
			}
			if diff := cmp.Diff(tt.want, got.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// meet does what the loop does for one request.
func meet(p *pace, request rune) rune {
	looks := p.looks()
	if looks {
		p.looked(request == 'f')
	}
	switch {
	case looks && request == 'f':
	case request == 's':
		p.slept(time.Second)
	default:
		p.slept(lookFor)
	}
	if looks {
		return request - 'a' + 'A'
	}
	return request
}

// However often looking is in vain, it is not given up for long.
func TestPaceSkipsAtMost(t *testing.T) {
	var p pace
	longest, skipped := 0, 0
	for range 10 * mostSkipped {
		if meet(&p, 'd') == 'D' {
			skipped = 0
		} else {
			skipped++
		}
		longest = max(longest, skipped)
	}
	if longest != mostSkipped {
		t.Errorf("%d sleeps without a look, want %d", longest, mostSkipped)
	}
}

// A client that is alone is asked again, but one that has much to say has one
// turn, like everybody.
func TestAlone(t *testing.T) {
	request := encode(legacy, opSet, "key", "value")
	for _, tt := range []struct {
		name     string
		requests int
		alone    bool
		left     bool // something, for the next turn
	}{
		{"little", 10, true, false},
		{"much", 2 * readBytes / len(request), true, true},
		{"much, with others", 2 * readBytes / len(request), false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := newLoop(defaults(t), zap.NewNop())
			if err != nil {
				t.Fatal(err)
			}
			defer l.end()
			pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(pair[1])
			c := &conn{loop: l, fd: pair[0]}
			l.conns[int32(c.fd)] = c
			if _, err := unix.Write(pair[1], []byte(strings.Repeat(string(request), tt.requests))); err != nil {
				t.Fatal(err)
			}
			if err := c.ready(tt.alone); err != nil {
				t.Fatal(err)
			}
			_, err = unix.Read(c.fd, make([]byte, 1))
			if left := err == nil; left != tt.left {
				t.Errorf("something left: %v, want %v (%v)", left, tt.left, err)
			}
		})
	}
}
