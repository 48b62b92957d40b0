package rendezvous_test

import (
	"io"
	"net"
	"strings"
	"testing"
	"time"

	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"gpurun/rendezvous"
)

// A client that keeps its stream open does not delay the server's Close.
func TestCloseIsBounded(t *testing.T) {
	t.Parallel()
	srv := serve(t, rendezvous.ServerConfig{WorldSize: 1})
	conn, err := rendezvous.Connect(srv.Target())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	watch, err := healthpb.NewHealthClient(conn).Watch(testContext(t), &healthpb.HealthCheckRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := watch.Recv(); err != nil {
		t.Fatal(err)
	}
	closesSoon(t, srv)
}

// A client that connects and sends nothing, or too little, does not delay Close.
func TestCloseHangsUpOnTheSilent(t *testing.T) {
	const preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
	for name, words := range map[string]string{"nothing": "", "preface alone": preface} {
		t.Run(name, func(t *testing.T) {
			srv := serve(t, rendezvous.ServerConfig{WorldSize: 1})
			conn, err := net.Dial("unix", "@"+strings.TrimPrefix(srv.Target(), "unix-abstract:"))
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			if _, err := io.WriteString(conn, words); err != nil {
				t.Fatal(err)
			}
			closesSoon(t, srv)
		})
	}
}

func closesSoon(t *testing.T, srv *rendezvous.Server) {
	t.Helper()
	begin := time.Now()
	if err := srv.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(begin); took > 4*time.Second {
		t.Errorf("closing took %v", took)
	}
}
