package transport

import (
	"errors"
	"io"
	"net"
	"testing"
	"time"
)

// A connection that is one too many is ended; when another has left there is
// room again.
func TestListenerHasSoManyConnectionsAtMost(t *testing.T) {
	under, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer under.Close()
	l := NewListener(under)
	l.most = 1
	accepted := make(chan net.Conn, 2)
	go func() {
		defer close(accepted)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			accepted <- conn
		}
	}()
	first := dial(t, under)
	inside := <-accepted
	if _, err := dial(t, under).Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the second got %v", err)
	}
	first.Close()
	inside.Close()
	dial(t, under)
	(<-accepted).Close()
	under.Close()
	if _, more := <-accepted; more {
		t.Error("the second was accepted too")
	}
}

func dial(t *testing.T, l net.Listener) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(30 * time.Second)); err != nil {
		t.Fatal(err)
	}
	return conn
}
