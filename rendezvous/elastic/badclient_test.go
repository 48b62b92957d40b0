package elastic

import (
	"errors"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	pb "gpurun/rendezvous/elastic/v1"
	"gpurun/rendezvous/transport"
	"gpurun/rendezvous/transport/badclienttest"
	"gpurun/rendezvous/transport/certtest"
)

// Clients that do not speak gRPC are hung up on, silent ones stay, and nodes that wait, or
// run, notice neither.
func TestBadClientsDisturbNobody(t *testing.T) {
	for name, secure := range map[string]bool{"plain text": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			config := job(t, 2, 2)
			if secure {
				config.TLS = certtest.New(t).Load(nil, hostOf(t, config.Endpoint))
			}
			first := next(t, enter(t, config, 0))
			visit(t, config.Endpoint)
			second := next(t, enter(t, config, 1))
			rounds := []*Round{first.get(t), second.get(t)}
			visit(t, config.Endpoint)
			callWithoutToken(t, config)
			gathered := make(chan error, len(rounds))
			for _, r := range rounds {
				go func() {
					_, err := r.Gather(testContext(t), "after", nil)
					gathered <- err
				}()
			}
			if err := errors.Join(<-gathered, <-gathered); err != nil {
				t.Error(err)
			}
		})
	}
}

// A client of the master's port gets no data before a round begins.
func TestBadClientsAtTheMaster(t *testing.T) {
	l, err := listenMaster("127.0.0.1", 0)
	if err != nil {
		t.Fatal(err)
	}
	g := acceptProbes(l)
	visit(t, l.Addr().String())
	if l, err = g.stop(); err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
}

// visit connects clients that do not speak gRPC, and one that stays silent until the
// test ends.
func visit(t *testing.T, address string) {
	t.Helper()
	silent, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { silent.Close() })
	badclienttest.Connect(t, address)
}

// callWithoutToken calls with the certificate, but without the token: it is
// refused before it has joined.
func callWithoutToken(t *testing.T, config Config) {
	t.Helper()
	conn, err := transport.Connect("passthrough:///"+config.Endpoint, config.TLS.Client(func(err error) { t.Error(err) }))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	stream, err := pb.NewElasticClient(conn).Attend(testContext(t), grpc.WaitForReady(true))
	if err == nil {
		_, err = stream.Recv()
	}
	if status.Code(err) != codes.Unauthenticated {
		t.Errorf("got %v", err)
	}
}
