package rendezvous

import (
	"net"
	"sync"
)

// accepted is a listener that can end its connections. A grpc.Server that is
// stopped does so only for those that have shaken hands, and waits for the
// others: whoever connects and says nothing would keep it.
type accepted struct {
	net.Listener
	mu   sync.Mutex
	open map[*acceptedConn]bool
}

func newAccepted(l net.Listener) *accepted {
	return &accepted{Listener: l, open: map[*acceptedConn]bool{}}
}

// Accept implements net.Listener.
func (a *accepted) Accept() (net.Conn, error) {
	conn, err := a.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &acceptedConn{Conn: conn, from: a}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open[c] = true
	return c, nil
}

// hangUp ends all connections. Their owners still close them.
func (a *accepted) hangUp() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for c := range a.open {
		c.Conn.Close()
	}
}

// acceptedConn is a connection that its listener knows until it is closed.
type acceptedConn struct {
	net.Conn
	from *accepted
}

// Close implements net.Conn.
func (c *acceptedConn) Close() error {
	c.from.mu.Lock()
	delete(c.from.open, c)
	c.from.mu.Unlock()
	return c.Conn.Close()
}
