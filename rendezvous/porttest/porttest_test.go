package porttest

import (
	"errors"
	"fmt"
	"net"
	"os/exec"
	"syscall"
	"testing"
)

// A test can open its port at once, while other tests start processes.
func TestAPortCanBeOpenedAtOnce(t *testing.T) {
	stop, stopped := make(chan struct{}), make(chan error)
	go func() {
		for {
			select {
			case <-stop:
				close(stopped)
				return
			default:
			}
			if err := exec.Command("true").Run(); err != nil {
				stopped <- err
				return
			}
		}
	}()
	for range 40 {
		port, err := Free()
		if err != nil {
			t.Fatal(err)
		}
		for _, address := range []string{fmt.Sprintf(":%d", port), Endpoint()} {
			l, err := net.Listen("tcp", address)
			if err != nil {
				t.Fatal(err)
			}
			l.Close()
		}
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Fatal(err)
	}
}

// A port at which this test listens is in use until it is closed.
func TestPortsInUse(t *testing.T) {
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", address)
		if errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT) {
			continue // a machine may have no IPv6
		}
		if err != nil {
			t.Fatal(err)
		}
		port := l.Addr().(*net.TCPAddr).Port
		for _, want := range []bool{true, false} {
			if got, err := inUse(port); got != want || err != nil {
				t.Errorf("%s: in use %t, %v", l.Addr(), got, err)
			}
			l.Close()
		}
	}
}
