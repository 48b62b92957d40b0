package elastic

import (
	"net"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/peer"

	pb "gpurun/rendezvous/elastic/v1"

	"gpurun/rendezvous/porttest"
)

func TestMasterThatCannotBeReached(t *testing.T) {
	t.Parallel()
	err := probe(testContext(t), porttest.Endpoint(), 300*time.Millisecond)
	if err == nil || !strings.Contains(err.Error(), "refused") || !strings.Contains(err.Error(), "--local-addr") {
		t.Errorf("got %v", err)
	}
}

// The listener that others have tried is handed over open, and still theirs to
// reach.
func TestMasterIsHandedOver(t *testing.T) {
	members := enterAll(t, job(t, 2, 2), 2)
	rounds := nextAll(t, members)
	master := rounds[0].Master()
	accepted := make(chan error, 1)
	go func() {
		for {
			conn, err := master.Accept()
			if err != nil {
				accepted <- err
				return
			}
			n, _ := conn.Read(make([]byte, 1))
			_ = conn.Close()
			if n == 1 { // and not one that only tried
				accepted <- nil
				return
			}
		}
	}()
	say(t, rounds[1].Place.Master)
	if err := <-accepted; err != nil {
		t.Error(err)
	}
}

// A master is where the others find it: at the address that it names, or that
// the server sees.
func TestMasterAddress(t *testing.T) {
	for _, c := range []struct{ named, seen, server, want string }{
		{"", "10.0.0.7:555", "head", "10.0.0.7:99"},
		{"", "[::ffff:10.0.0.7]:555", "head", "10.0.0.7:99"},
		{"", "[fd00::7]:555", "head", "[fd00::7]:99"},
		{"", "127.0.0.1:555", "head", "head:99"},
		{"", "127.0.1.1:555", "10.0.0.1", "10.0.0.1:99"},
		{"", "127.0.0.1:555", "", "127.0.0.1:99"},
		{"node7", "10.0.0.7:555", "head", "node7:99"},
	} {
		at, err := net.ResolveTCPAddr("tcp", c.seen)
		if err != nil {
			t.Fatal(err)
		}
		ctx := peer.NewContext(t.Context(), &peer.Peer{Addr: at})
		got := (&server{host: c.server}).masterOf(ctx, &pb.Join{MasterHost: c.named, MasterPort: 99})
		if got != c.want {
			t.Errorf("%+v: got %s", c, got)
		}
	}
}
