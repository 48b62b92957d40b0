package tcpstore

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"sync"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// loop serves all clients, one after the other, in one goroutine, as PyTorch's
// own server does: a request takes less time than it takes to wake a goroutine
// for it, and nothing needs a lock. Where there are many of either, clients and
// processors, a crew helps it to read and to write.
type loop struct {
	limits   Limits
	log      *zap.Logger
	table    *table
	underWay budget
	poller   *poller
	conns    map[int32]*conn // by file descriptor
	hurried  hurried
	buffer   []byte
	full     bool // and said so
	pace     pace
	crew     crew
	streams  streams
	requests int // that were served

	mu        sync.Mutex
	newcomers []newcomer
	stopping  bool
	ended     bool // nobody rings any more
}

// newcomer is a connection that the loop has yet to admit.
type newcomer struct {
	fd   int
	peer net.Addr
}

func newLoop(limits Limits, log *zap.Logger) (*loop, error) {
	p, err := newPoller()
	if err != nil {
		return nil, err
	}
	return &loop{
		limits:   limits,
		log:      log,
		table:    newTable(limits),
		underWay: budget{free: limits.TotalBytes},
		poller:   p,
		conns:    map[int32]*conn{},
		hurried:  newHurried(limits.RequestTime),
		buffer:   make([]byte, readBytes),
		pace:     pace{crowdSize: crowdPerProcessor * runtime.NumCPU()},
		crew:     newCrew(),
		streams:  streams{longest: longestNap(runtime.NumCPU())},
	}, nil
}

// run serves until stop is called. It closes all connections.
func (l *loop) run() error {
	defer l.end()
	events := make([]unix.EpollEvent, 256)
	together := make([]*conn, 0, len(events))
	for {
		n, err := l.next(events)
		if err != nil {
			return err
		}
		rung, alarmed, wanted := false, false, l.crew.wanted(n)
		for _, e := range events[:n] {
			if e.Fd == int32(l.poller.bell) {
				rung = true
			} else if e.Fd == int32(l.poller.alarm) {
				alarmed = true
			} else if c := l.conns[e.Fd]; c != nil {
				l.pace.crowd.visit(c)
				if wanted && !c.blocked {
					together = append(together, c)
					continue
				}
				l.dismissOn(c.ready(n == 1), c)
				if err := l.restIfStreaming(c); err != nil {
					return err
				}
			}
		}
		if err := l.serveTogether(together); err != nil {
			return err
		}
		together = together[:0]
		if n > 0 {
			l.pace.served()
		}
		if alarmed {
			if err := l.endNap(); err != nil {
				return err
			}
		}
		// Only now may a descriptor that was closed mean somebody else.
		if rung {
			if stopping, err := l.admit(); stopping || err != nil {
				return err
			}
		}
	}
}

// next returns what clients, and the bell, have for the loop, or nothing when
// somebody's time is over.
func (l *loop) next(events []unix.EpollEvent) (int, error) {
	left := l.hangUpLate()
	if l.pace.naps() {
		n, err := l.poller.wait(events, 0)
		if n > 0 || err != nil {
			return n, err
		}
		nap(crowdNap)
	} else if l.pace.looks() {
		n, err := l.look(events)
		l.pace.looked(n > 0)
		if n > 0 || err != nil {
			return n, err
		}
	}
	asleep := time.Now()
	n, err := l.poller.wait(events, left)
	l.pace.slept(time.Since(asleep))
	return n, err
}

// look is a wait that stays awake, for a short time.
func (l *loop) look(events []unix.EpollEvent) (int, error) {
	for end := time.Now().Add(lookFor); ; {
		n, err := l.poller.wait(events, 0)
		if n > 0 || err != nil || time.Now().After(end) {
			return n, err
		}
	}
}

// wake tells those whose wait is over.
func (l *loop) wake() {
	for _, w := range l.table.takeWoken() {
		l.dismissOn(w.owner.woken(), w.owner)
	}
}

// hangUpLate hangs up on those whose time is over, and returns how long the
// others have.
func (l *loop) hangUpLate() time.Duration {
	for {
		c, left := l.hurried.late()
		if c == nil {
			return left
		}
		l.dismissOn(fmt.Errorf("a request was not sent, or a reply not taken, within %v: %w", l.limits.RequestTime, os.ErrDeadlineExceeded), c)
	}
}

// dismissOn hangs up on a client that has left, or that an error is about.
func (l *loop) dismissOn(err error, c *conn) {
	if err == nil {
		return
	}
	l.forget(c)
	l.full = false
	if errors.Is(err, io.EOF) {
		return
	}
	say := l.log.Debug // strangers must not fill the log
	if c.answered && errors.Is(err, errLimit) {
		say = l.log.Warn
	}
	say("the store hangs up on a client", zap.Stringer("client", c.peer), zap.Error(err))
}

func (l *loop) forget(c *conn) {
	c.gone = true
	delete(l.conns, int32(c.fd))
	c.endWait()
	l.hurried.remove(c)
	l.underWay.change(c.held, 0)
	hangUp(c.fd)
}

// hangUp's error says at most that the client was faster.
func hangUp(fd int) { _ = unix.Close(fd) }

// admit lets newcomers in, up to the limit, and says whether the loop is to stop.
func (l *loop) admit() (stopping bool, err error) {
	if err := l.poller.rung(); err != nil {
		return false, fmt.Errorf("reading the store's eventfd: %w", err)
	}
	l.mu.Lock()
	newcomers := l.newcomers
	l.newcomers, stopping = nil, l.stopping
	l.mu.Unlock()
	for _, n := range newcomers {
		if len(l.conns) < l.limits.Connections {
			c := &conn{loop: l, fd: n.fd, peer: n.peer}
			l.conns[int32(n.fd)] = c
			l.dismissOn(l.poller.watch(n.fd), c)
			continue
		}
		hangUp(n.fd)
		if !l.full {
			l.full = true
			l.log.Warn("the store refuses more connections", zap.Int("at most", l.limits.Connections))
		}
	}
	return stopping, nil
}

// add gives the loop a connection. Any goroutine may call it.
func (l *loop) add(n newcomer) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		hangUp(n.fd)
		return nil
	}
	l.newcomers = append(l.newcomers, n)
	return l.poller.ring()
}

// stop ends the loop. Any goroutine may call it, more than once.
func (l *loop) stop() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.ended {
		return nil
	}
	l.stopping = true
	return l.poller.ring()
}

func (l *loop) end() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ended = true
	for _, n := range l.newcomers {
		hangUp(n.fd)
	}
	for _, c := range l.conns {
		l.forget(c)
	}
	if err := l.poller.close(); err != nil {
		l.log.Debug("closing the store's epoll instance", zap.Error(err))
	}
}
