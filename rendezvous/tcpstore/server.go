// Package tcpstore serves the store of PyTorch's torch.distributed: the
// protocol of its TCPStore, to clients of every PyTorch from 1.13 to today's.
// With TORCHELASTIC_USE_AGENT_STORE=True in their environment, workers look
// for it at MASTER_ADDR:MASTER_PORT, served by the agent.
//
// It has a table of its own, not the one in package store, because PyTorch's
// semantics are others: keys may be empty, values grow, queues are waited for
// like keys, and a wait can be taken back.
//
// The protocol knows no authentication: whoever reaches the port may read and
// write. A server bounds what such a stranger can take, and hangs up on those
// who do not speak the protocol, but where all workers are on one machine the
// listener should be on loopback.
package tcpstore

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Options configure a server. The zero value is fine.
type Options struct {
	Limits Limits
	Logger *zap.Logger // nil: none
}

// Server is a store that clients connect to.
type Server struct {
	listener net.Listener
	limits   Limits
	log      *zap.Logger
	table    *table
	arrived  *budget

	done      chan struct{} // closed by Close
	forget    func() bool   // of the context
	goroutine sync.WaitGroup

	mu     sync.Mutex
	conns  map[net.Conn]struct{}
	closed bool
	full   bool // and said so
}

// Serve serves an empty store on a listener, which the server owns from then
// on, until ctx ends or [Server.Close] is called. End the workers first: a
// worker of PyTorch 1.13 that loses its store spins.
func Serve(ctx context.Context, l net.Listener, o Options) (*Server, error) {
	limits, err := o.Limits.withDefaults()
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	s := &Server{
		listener: l,
		limits:   limits,
		log:      o.Logger.Named("tcpstore"),
		table:    newTable(limits),
		arrived:  newBudget(limits.TotalBytes),
		done:     make(chan struct{}),
		conns:    map[net.Conn]struct{}{},
	}
	s.goroutine.Go(s.accept)
	s.forget = context.AfterFunc(ctx, s.shut)
	return s, nil
}

// Addr is where the server listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close hangs up on all clients and returns when nothing of the server runs
// any more. It may be called again.
func (s *Server) Close() error {
	s.forget()
	s.shut()
	s.goroutine.Wait()
	return nil
}

// shut begins the end.
func (s *Server) shut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return
	}
	s.closed = true
	close(s.done)
	if err := s.listener.Close(); err != nil {
		s.log.Debug("closing the listener", zap.Error(err))
	}
	for c := range s.conns {
		hangUp(c)
	}
}

// hangUp's error says at most that the client was faster.
func hangUp(c net.Conn) { _ = c.Close() }

func (s *Server) accept() {
	const atMost = time.Second
	pause := 5 * time.Millisecond
	for {
		c, err := s.listener.Accept()
		if err == nil {
			pause = 5 * time.Millisecond
			s.admit(c)
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		// Mostly too many open files: others must leave first.
		s.log.Warn("accepting a connection to the store", zap.Error(err), zap.Duration("again in", pause))
		select {
		case <-s.done:
			return
		case <-time.After(pause):
			pause = min(2*pause, atMost)
		}
	}
}

// admit gives a connection a goroutine, or hangs up.
func (s *Server) admit(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		hangUp(c)
	case len(s.conns) >= s.limits.Connections:
		hangUp(c)
		if !s.full {
			s.full = true
			s.log.Warn("the store refuses more connections", zap.Int("at most", s.limits.Connections))
		}
	default:
		s.conns[c] = struct{}{}
		s.goroutine.Go(func() { s.attend(c) })
	}
}

func (s *Server) attend(c net.Conn) {
	client := newConn(c, s.table, s.arrived)
	err := client.serve()
	s.mu.Lock()
	delete(s.conns, c)
	s.full = false
	closing := s.closed
	s.mu.Unlock()
	hangUp(c)
	if err == nil || closing {
		return
	}
	say := s.log.Debug // strangers must not fill the log
	if client.answered && errors.Is(err, errLimit) {
		say = s.log.Warn
	}
	say("the store hangs up on a client", zap.Stringer("client", c.RemoteAddr()), zap.Error(err))
}
