package rendezvous

import (
	"context"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
)

// abstractPair connects two Unix sockets by way of an abstract name.
func abstractPair(t *testing.T) (client, server net.Conn) {
	t.Helper()
	l, err := net.Listen("unix", "@"+strings.TrimPrefix(freshAbstract(), abstractScheme))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	client, err = net.Dial("unix", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	server, err = l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client.Close()
		server.Close()
	})
	return client, server
}

func TestPeerUID(t *testing.T) {
	client, server := abstractPair(t)
	own := samePeerUID()
	for name, conn := range map[string]net.Conn{"client": client, "server": server} {
		_, info, err := own.ServerHandshake(conn)
		if err != nil {
			t.Errorf("%s: own uid refused: %v", name, err)
			continue
		}
		err = credentials.CheckSecurityLevel(info, credentials.PrivacyAndIntegrity)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		_, _, err = peerUID{want: os.Geteuid() + 1}.ClientHandshake(context.Background(), "", conn)
		if err == nil || !strings.Contains(err.Error(), "belongs to uid") {
			t.Errorf("%s: another uid accepted: %v", name, err)
		}
	}
}

func TestPeerUIDWantsUnixSockets(t *testing.T) {
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if _, _, err := samePeerUID().ServerHandshake(a); err == nil {
		t.Error("a pipe was accepted")
	}
}

// A server that trusts another user closes our connection without a word.
func TestServerHangsUpOnOtherUID(t *testing.T) {
	at, err := listen(ServerConfig{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	srv := grpc.NewServer(grpc.Creds(peerUID{want: os.Geteuid() + 1}))
	served := make(chan error, 1)
	go func() { served <- srv.Serve(at.listener) }()
	defer func() {
		srv.Stop()
		<-served
	}()
	conn, err := net.Dial("unix", "@"+strings.TrimPrefix(at.target, abstractScheme))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SetDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("read %d bytes, %v, want EOF", n, err)
	}
}
