package rendezvous_test

import (
	"io"
	"net"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"gpurun/rendezvous"
	"gpurun/rendezvous/transport"
	"gpurun/rendezvous/transport/certtest"
	pb "gpurun/rendezvous/v1"
)

// Whoever does not speak the protocol is hung up on, and the members notice nothing.
func TestStrangersDisturbNobody(t *testing.T) {
	both := certtest.New(t).Load(nil, "127.0.0.1")
	for name, tls := range map[string]*transport.TLS{"plain text": nil, "TLS": both} {
		t.Run(name, func(t *testing.T) {
			srv := serve(t, rendezvous.ServerConfig{WorldSize: 1, Listen: "127.0.0.1:0", Token: "secret", TLS: tls})
			members := joinAll(t, srv.Target(), 1, rendezvous.Options{Token: "secret", TLS: tls})
			for what, words := range map[string]string{
				"http":    "GET / HTTP/1.1\r\nHost: rendezvous\r\n\r\n",
				"ssh":     "SSH-2.0-OpenSSH_9.2 Debian-2+deb12u3\r\n",
				"tls":     "\x16\x03\x01\x00\x2f\x01\x00\x00\x2b\x03\x03 this is no hello of anybody's, but a lie",
				"preface": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\xff\xff\xff\xff\xff\xff\xff\xff\xff",
				"store":   "\x00\xce\xf7\x85\x3c\x01\x01\x00\x00\x00\x00\x00\x00\x00k\x01\x00\x00\x00\x00\x00\x00\x00v",
			} {
				hungUpOn(t, what, srv.Target(), words)
			}
			if err := members[0].Barrier(testContext(t), "after"); err != nil {
				t.Error(err)
			}
		})
	}
}

// hungUpOn says something and waits for the end of the connection.
func hungUpOn(t *testing.T, what, address, words string) {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(testTimeout)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(conn, words); err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(io.Discard, conn) // a reset will do
	if timeout, ok := err.(net.Error); ok && timeout.Timeout() {
		t.Errorf("%s: the server does not hang up", what)
	}
}

// A call without the token is refused by its headers: that its message never comes
// does not matter.
func TestMessagesOfStrangersAreNotRead(t *testing.T) {
	srv := serve(t, rendezvous.ServerConfig{WorldSize: 1, Listen: "127.0.0.1:0", Token: "secret"})
	conn := dial(t, srv.Target())
	for _, method := range []string{
		pb.Store_Set_FullMethodName, pb.Rendezvous_Exchange_FullMethodName, pb.Rendezvous_Session_FullMethodName,
		"/grpc.health.v1.Health/Check", "/grpc.health.v1.Health/Watch", "/no/such",
	} {
		stream, err := conn.NewStream(testContext(t), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
		if err == nil {
			err = stream.RecvMsg(&pb.SetResponse{})
		}
		if status.Code(err) != codes.Unauthenticated {
			t.Errorf("%s: got %v", method, err)
		}
	}
}
