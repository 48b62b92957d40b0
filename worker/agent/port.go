package agent

import (
	"fmt"
	"net"
)

// FreePort returns a TCP port of the loopback interface that nobody listened on
// a moment ago.
func FreePort() (int, error) {
	port, err := HoldPort()
	if err != nil {
		return 0, err
	}
	return port.Number(), port.Release()
}

// HeldPort is a free TCP port that nobody else can have until it is released.
type HeldPort struct{ listener *net.TCPListener }

// HoldPort finds a free port of the loopback interface and holds it.
func HoldPort() (*HeldPort, error) {
	listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	if err != nil {
		return nil, fmt.Errorf("finding a free port: %w", err)
	}
	return &HeldPort{listener: listener}, nil
}

// Number is the port.
func (p *HeldPort) Number() int { return p.listener.Addr().(*net.TCPAddr).Port }

// Release lets others have the port.
func (p *HeldPort) Release() error {
	if err := p.listener.Close(); err != nil {
		return fmt.Errorf("releasing port %d: %w", p.Number(), err)
	}
	return nil
}
