package tcpstore

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"go.uber.org/zap"
)

// Options configure a server. The zero value is valid.
type Options struct {
	Limits Limits
	Logger *zap.Logger // nil: no log
}

// Server is a store that clients connect to.
type Server struct {
	listener net.Listener
	limits   Limits
	log      *zap.Logger
	inFlight budget // requests that are incomplete, replies that are not sent

	stopContext func() bool   // unregisters shut from the context
	done        chan struct{} // closed when the server shuts down
	goroutines  sync.WaitGroup

	mu       sync.Mutex
	table    *table
	meetings meetings
	conns    map[*conn]bool
	full     bool // and the log says so
	closed   bool
}

// Serve serves an empty store on a listener until ctx ends or [Server.Close] is
// called. The server owns the listener. End the workers before the server: a
// worker of PyTorch 1.13 that loses its store busy-waits.
func Serve(ctx context.Context, l net.Listener, o Options) (*Server, error) {
	limits, err := o.Limits.withDefaults()
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	if o.Logger == nil {
		o.Logger = zap.NewNop()
	}
	s := newServer(limits, o.Logger.Named("tcpstore"))
	s.listener = l
	s.goroutines.Go(s.accept)
	s.stopContext = context.AfterFunc(ctx, s.shut)
	return s, nil
}

func newServer(limits Limits, log *zap.Logger) *Server {
	return &Server{
		limits:   limits,
		log:      log,
		inFlight: budget{free: limits.TotalBytes},
		done:     make(chan struct{}),
		table:    newTable(limits),
		conns:    map[*conn]bool{},
	}
}

// Addr is the address of the listener.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close closes the listener and all connections, and returns when all goroutines
// of the server have ended. It may be called again. The error is always nil.
func (s *Server) Close() error {
	s.stopContext()
	s.shut()
	s.goroutines.Wait()
	return nil
}

// shut closes the listener and all connections, which ends their goroutines.
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
		c.hangUp(net.ErrClosed)
	}
}

// accept admits connections until the listener is closed.
func (s *Server) accept() {
	const shortest, longest = 5 * time.Millisecond, time.Second
	pause := shortest
	for {
		c, err := s.listener.Accept()
		if err == nil {
			s.admit(c)
			pause = shortest
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			return
		}
		// The usual reason is too many open files, until other connections end.
		s.log.Warn("accepting a connection to the store", zap.Error(err), zap.Duration("again in", pause))
		select {
		case <-s.done:
			return
		case <-time.After(pause):
			pause = min(2*pause, longest)
		}
	}
}

// admit serves a connection, or closes it if there are too many.
func (s *Server) admit(socket net.Conn) {
	c := &conn{Conn: socket, server: s}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.conns) >= s.limits.Connections {
		if !s.closed && !s.full {
			s.full = true
			s.log.Warn("the store refuses more connections", zap.Int("at most", s.limits.Connections))
		}
		c.hangUp(net.ErrClosed)
		return
	}
	s.conns[c] = true
	s.goroutines.Go(func() { s.serve(c) })
}

// serve serves a client until its connection ends.
func (s *Server) serve(c *conn) {
	c.hangUp(c.serveAll())
	_ = c.endWait() // hangUp has had the error
	s.inFlight.change(c.held, 0)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, c)
	s.meetings.leave(c)
	s.full = false
}

// logEnd logs why a connection ends, unless the client or the server has closed it.
func (s *Server) logEnd(c *conn, err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) {
		return
	}
	log := s.log.Debug // programs that do not speak the protocol must not fill the log
	if errors.Is(err, errLimit) && c.answered {
		log = s.log.Warn
	}
	log("the store hangs up on a client", zap.Stringer("client", c.RemoteAddr()), zap.Error(err))
}
