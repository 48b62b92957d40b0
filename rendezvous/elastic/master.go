package elastic

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"syscall"
	"time"
)

// probeEvery is the time between a node's attempts to reach the master.
const probeEvery = 200 * time.Millisecond

// listenMaster opens the port that the workers' master would have on this
// node, on all of its addresses if host is empty. If the port is taken, it is another one.
func listenMaster(host string, port int) (net.Listener, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(host, strconv.Itoa(port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		l, err = net.Listen("tcp", net.JoinHostPort(host, "0"))
	}
	if err != nil {
		return nil, fmt.Errorf("opening the workers' master port: %w", err)
	}
	return l, nil
}

// loopbackOf is the loopback address by which nodes see each other when they meet at
// host: all on this host, by IPv4 or IPv6.
func loopbackOf(host string) string {
	if ip, err := netip.ParseAddr(host); err == nil && ip.Unmap().Is6() {
		return "::1"
	}
	return "127.0.0.1"
}

// probeAcceptor accepts and closes the connections of nodes that try whether they
// reach the master, for as long as the round has not begun.
type probeAcceptor struct {
	listener net.Listener
	done     chan struct{}
}

func acceptProbes(l net.Listener) *probeAcceptor {
	g := &probeAcceptor{listener: l, done: make(chan struct{})}
	go func() {
		defer close(g.done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			_ = conn.Close() // that it could be opened is all that counts
		}
	}()
	return g
}

// stop ends the accepting and returns the listener, which stays open.
func (g *probeAcceptor) stop() (net.Listener, error) {
	tcp, ok := g.listener.(*net.TCPListener)
	if !ok {
		return nil, fmt.Errorf("a %T is not a TCP listener", g.listener)
	}
	if err := tcp.SetDeadline(time.Unix(1, 0)); err != nil {
		return nil, fmt.Errorf("handing over the workers' master port: %w", err)
	}
	<-g.done
	if err := tcp.SetDeadline(time.Time{}); err != nil {
		return nil, fmt.Errorf("handing over the workers' master port: %w", err)
	}
	return tcp, nil
}

// probe makes sure that the master can be reached from here.
func probe(ctx context.Context, address string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var dialer net.Dialer
	for {
		conn, err := dialer.DialContext(ctx, "tcp", address)
		if err == nil {
			return conn.Close()
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return context.Cause(ctx)
			}
			return fmt.Errorf("%w; set --local-addr on that node to an address that the other nodes reach", err)
		case <-time.After(probeEvery):
		}
	}
}
