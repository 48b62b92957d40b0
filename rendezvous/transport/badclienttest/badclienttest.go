// Package badclienttest connects to a port as clients that do not speak gRPC.
package badclienttest

import (
	"io"
	"net"
	"testing"
	"time"
)

// timeout is how long a server may take to hang up.
const timeout = 60 * time.Second

// Connect sends bytes of other protocols. The server must close each connection.
func Connect(t *testing.T, address string) {
	t.Helper()
	for what, words := range map[string]string{
		"http":    "GET / HTTP/1.1\r\nHost: rendezvous\r\n\r\n",
		"ssh":     "SSH-2.0-OpenSSH_9.2 Debian-2+deb12u3\r\n",
		"tls":     "\x16\x03\x01\x00\x2f\x01\x00\x00\x2b\x03\x03 this is no hello of anybody's, but a lie",
		"preface": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff",
	} {
		Say(t, address, what, words)
	}
}

// Say says something and waits for the end of the connection.
func Say(t *testing.T, address, what, words string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(timeout)); err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(conn, words) // it may have been hung up on already
	_, err = io.Copy(io.Discard, conn) // a reset will do
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		t.Errorf("%s: the server does not hang up", what)
	}
}
