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
	"fmt"
	"net"
	"sync"
	"syscall"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sys/unix"
)

// Options configure a server. The zero value is fine.
type Options struct {
	Limits Limits
	Logger *zap.Logger // nil: none

	crew *crew // nil: as suits the machine
}

// Server is a store that clients connect to.
type Server struct {
	listener net.Listener
	log      *zap.Logger
	loop     *loop

	forget    func() bool // of the context
	shutOnce  sync.Once
	done      chan struct{} // closed when the end begins
	goroutine sync.WaitGroup
	err       error // of the loop, when it has ended
}

// Serve serves an empty store on a listener of a network with sockets, which
// the server owns from then on, until ctx ends or [Server.Close] is called.
// End the workers first: a worker of PyTorch 1.13 that loses its store spins.
func Serve(ctx context.Context, l net.Listener, o Options) (*Server, error) {
	limits, err := o.Limits.withDefaults()
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	log := o.Logger.Named("tcpstore")
	loop, err := newLoop(limits, log)
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if o.crew != nil {
		loop.crew = *o.crew
	}
	s := &Server{listener: l, log: log, loop: loop, done: make(chan struct{})}
	s.goroutine.Go(s.accept)
	s.goroutine.Go(s.serve)
	s.forget = context.AfterFunc(ctx, s.shut)
	return s, nil
}

// Addr is where the server listens.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close hangs up on all clients and returns when nothing of the server runs
// any more: why it had ended before, if it had. It may be called again.
func (s *Server) Close() error {
	s.forget()
	s.shut()
	s.goroutine.Wait()
	return s.err
}

// shut begins the end.
func (s *Server) shut() {
	s.shutOnce.Do(func() {
		close(s.done)
		if err := s.listener.Close(); err != nil {
			s.log.Debug("closing the listener", zap.Error(err))
		}
		if err := s.loop.stop(); err != nil {
			s.log.Error("stopping the store", zap.Error(err))
		}
	})
}

func (s *Server) serve() {
	if s.err = s.loop.run(); s.err != nil {
		s.log.Error("the store has ended", zap.Error(s.err))
	}
	s.shut()
}

func (s *Server) accept() {
	const atMost = time.Second
	pause := 5 * time.Millisecond
	for {
		err := s.acceptOne()
		if err == nil {
			pause = 5 * time.Millisecond
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

// acceptOne hands a connection to the loop.
func (s *Server) acceptOne() error {
	c, err := s.listener.Accept()
	if err != nil {
		return err
	}
	fd, err := detach(c)
	if err != nil {
		return err
	}
	return s.loop.add(newcomer{fd: fd, peer: c.RemoteAddr()})
}

// detach takes a connection's socket away from Go's network poller.
func detach(c net.Conn) (fd int, err error) {
	defer func() { err = errors.Join(err, c.Close()) }()
	socket, ok := c.(syscall.Conn)
	if !ok {
		return 0, fmt.Errorf("a connection of network %s has no socket", c.LocalAddr().Network())
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return 0, err
	}
	var dupErr error
	err = raw.Control(func(old uintptr) { fd, dupErr = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 0) })
	return fd, errors.Join(err, dupErr)
}
