package rendezvous_test

import (
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"gpurun/rendezvous"
	"gpurun/rendezvous/transport"
	"gpurun/rendezvous/transport/badclienttest"
	"gpurun/rendezvous/transport/certtest"
	pb "gpurun/rendezvous/v1"
)

// Clients that do not speak the protocol are hung up on, and the members notice nothing.
func TestBadClientsDisturbNobody(t *testing.T) {
	both := certtest.New(t).Load(nil, "127.0.0.1")
	for name, tls := range map[string]*transport.TLS{"plain text": nil, "TLS": both} {
		t.Run(name, func(t *testing.T) {
			srv := serve(t, rendezvous.ServerConfig{WorldSize: 1, Listen: "127.0.0.1:0", Token: "secret", TLS: tls})
			members := joinAll(t, srv.Target(), 1, rendezvous.Options{Token: "secret", TLS: tls})
			badclienttest.Connect(t, srv.Target())
			badclienttest.Say(t, srv.Target(), "store",
				"\x00\xce\xf7\x85\x3c\x01\x01\x00\x00\x00\x00\x00\x00\x00k\x01\x00\x00\x00\x00\x00\x00\x00v")
			if err := members[0].Barrier(testContext(t), "after"); err != nil {
				t.Error(err)
			}
		})
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
