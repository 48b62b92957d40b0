package transport

import (
	"net"
	"sync"
	"syscall"
)

// MostConnections is how many connections a server takes at once: 65,536, but no more
// than half the file descriptors that the process may have. The agent
// needs the others to start workers, also while clients flood its ports.
func MostConnections() int {
	const most = 1 << 16
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return most
	}
	return int(min(most, files.Cur/2))
}

// Listener limits the number of its connections, and can close them all. A grpc.Server
// that stops closes only connections whose handshake is complete, and waits for the
// others: a client that connects and stays silent would delay the stop.
type Listener struct {
	net.Listener
	most int
	mu   sync.Mutex
	open map[*Conn]bool
}

// NewListener wraps l.
func NewListener(l net.Listener) *Listener {
	return &Listener{Listener: l, most: MostConnections(), open: map[*Conn]bool{}}
}

// Accept implements net.Listener. It hangs up on those that are too many.
func (a *Listener) Accept() (net.Conn, error) {
	for {
		conn, err := a.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if c := a.admit(conn); c != nil {
			return c, nil
		}
		_ = conn.Close() // it may try again
	}
}

// admit returns nil when there is no room for the connection.
func (a *Listener) admit(conn net.Conn) *Conn {
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.open) >= a.most {
		return nil
	}
	c := &Conn{Conn: conn, from: a}
	a.open[c] = true
	return c
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
