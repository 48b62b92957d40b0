package tcpstore

import (
	"fmt"
	"time"
)

// streams are those clients that send one small SET after the other, and nothing
// that has an answer. They wait for nothing; what slows them down is to have the store
// read what they send at once, request by request. So they rest: nobody is woken by what they send,
// until the end of a nap, when all that has come is served. Meanwhile it gathers, at last
// in the client's own socket, where it costs the least. All others are served as ever.
type streams struct {
	resting []*conn
	awake   []*conn // room for those of the next nap
	longest time.Duration
}

const (
	// From so many SETs in a row on, a client is taken to stream.
	streamLength = 32

	// A request of more than this is not small: a client that sends many of them is
	// slowed down most by a socket that is full.
	smallRequest = 256

	// A request at the end of a stream may have to wait for the end of a nap, which
	// therefore grows with the stream, of which a SET takes some 2 to 5 us.
	napPerRequest = time.Microsecond

	// With few processors, what the store takes to read is lost to the clients. With many,
	// all that a nap is good for is that the store is not woken for each request.
	napOfOneProcessor = 4 * time.Millisecond
	leastLongestNap   = 100 * time.Microsecond
)

// longestNap is for a machine of so many processors.
func longestNap(processors int) time.Duration {
	return max(napOfOneProcessor/time.Duration(processors), leastLongestNap)
}

// stream is what one client has sent.
type stream struct {
	length  int // SETs since anything was answered
	total   int // likewise, but for streamLength that each answer takes off
	resting bool
}

// request counts one that was served, before any answer to it.
func (s *stream) request(size int) {
	if size > smallRequest {
		s.length, s.total = 0, 0
		return
	}
	s.length++
	s.total++
}

// answered is called when the client has been sent a reply, or several at once.
func (s *stream) answered() {
	s.length = 0
	s.total = max(0, s.total-streamLength)
}

// nap is how long the client rests, but for the longest nap.
func (s *stream) nap() time.Duration { return time.Duration(s.total) * napPerRequest }

// restIfStreaming lets a client rest that has been served. All who come to rest
// during a nap share its end.
func (l *loop) restIfStreaming(c *conn) error {
	if c.gone || c.blocked || c.more || c.stream.resting || c.stream.length < streamLength {
		return nil
	}
	c.stream.resting = true
	l.dismissOn(l.poller.change(c.fd, 0), c)
	l.streams.resting = append(l.streams.resting, c)
	if len(l.streams.resting) > 1 {
		return nil
	}
	return l.setAlarm(c)
}

// endNap serves those who rested. Who goes on streaming rests again.
func (l *loop) endNap() error {
	if err := l.poller.alarmed(); err != nil {
		return fmt.Errorf("reading the store's timerfd: %w", err)
	}
	s := &l.streams
	s.resting, s.awake = s.awake[:0], s.resting
	for _, c := range s.awake {
		if c.gone {
			continue
		}
		before := c.stream.length
		l.dismissOn(c.ready(false), c)
		switch {
		case c.gone:
		case !c.blocked && !c.more && c.stream.length > before:
			s.resting = append(s.resting, c)
		default:
			l.endRest(c)
		}
	}
	clear(s.awake)
	if len(s.resting) == 0 {
		return nil
	}
	return l.setAlarm(s.resting[0])
}

// setAlarm begins a nap, that of a client.
func (l *loop) setAlarm(c *conn) error {
	return l.poller.setAlarm(min(c.stream.nap(), l.streams.longest))
}

// endRest has the loop listen to the client again, unless it must take a reply first.
func (l *loop) endRest(c *conn) {
	c.stream.resting = false
	if !c.blocked {
		l.dismissOn(l.poller.change(c.fd, readable), c)
	}
}
