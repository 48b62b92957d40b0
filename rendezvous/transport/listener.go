package transport

import (
	"net"
	"sync"
)

// Listener is a listener that can end its connections. A grpc.Server that is
// stopped does so only for those that have shaken hands, and waits for the
// others: whoever connects and says nothing would keep it.
type Listener struct {
	net.Listener
	mu   sync.Mutex
	open map[*Conn]bool
}

// NewListener wraps l.
func NewListener(l net.Listener) *Listener {
	return &Listener{Listener: l, open: map[*Conn]bool{}}
}

// Accept implements net.Listener.
func (a *Listener) Accept() (net.Conn, error) {
	conn, err := a.Listener.Accept()
	if err != nil {
		return nil, err
	}
	c := &Conn{Conn: conn, from: a}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.open[c] = true
	return c, nil
}

// hangUp ends all connections. Their owners still close them.
func (a *Listener) hangUp() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for c := range a.open {
		c.Conn.Close()
	}
}

// Conn is a connection that its Listener knows until it is closed.
type Conn struct {
	net.Conn
	from *Listener
}

// Close implements net.Conn.
func (c *Conn) Close() error {
	c.from.mu.Lock()
	delete(c.from.open, c)
	c.from.mu.Unlock()
	return c.Conn.Close()
}
