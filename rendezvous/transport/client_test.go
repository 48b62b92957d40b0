package transport

import (
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"
)

// late accepts the first connection late.
type late struct {
	net.Listener
	once sync.Once
}

func (l *late) Accept() (net.Conn, error) {
	l.once.Do(func() { time.Sleep(connectTimeout + time.Second) })
	return l.Listener.Accept()
}

// A local server that answers late is waited for: it may have been stopped, as by Ctrl-Z.
func TestALocalServerMayAnswerLate(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "socket")
	listener, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	server := grpc.NewServer()
	defer server.Stop()
	go func() { _ = server.Serve(&late{Listener: listener}) }()
	conn, err := Connect("unix:"+path, insecure.NewCredentials())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	err = conn.Invoke(t.Context(), "/no/Method", &emptypb.Empty{}, &emptypb.Empty{})
	if status.Code(err) != codes.Unimplemented {
		t.Errorf("the server has not answered: %v", err)
	}
}
