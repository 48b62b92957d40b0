package launcher

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"

	"go.uber.org/zap"

	"gpurun/rendezvous/tcpstore"
)

// store is PyTorch's store of one attempt's workers, at MASTER_ADDR and MASTER_PORT.
// TORCHELASTIC_USE_AGENT_STORE tells the workers to use it.
type store struct {
	port   int
	server *tcpstore.Server
}

// serveStore serves a store at an address of this machine, at a free port if port is 0.
// The protocol has no passwords: every program that reaches the address can use the store.
// The caller closes the store when the workers have ended.
func serveStore(ctx context.Context, host string, port int, logger *zap.Logger) (store, error) {
	at := net.JoinHostPort(host, strconv.Itoa(port))
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", at)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return store{}, fmt.Errorf("serving the workers' store at %s: another program listens there; "+
			"choose another --master-port, or omit it for a free one", at)
	case err != nil:
		return store{}, fmt.Errorf("serving the workers' store at %s: %w; what --master-addr or --rdzv-endpoint names must "+
			"be an address of this machine", at, err)
	}
	server, err := tcpstore.Serve(ctx, listener, tcpstore.Options{Logger: logger})
	if err != nil {
		return store{}, fmt.Errorf("serving the workers' store: %w", errors.Join(err, listener.Close()))
	}
	return store{port: listener.Addr().(*net.TCPAddr).Port, server: server}, nil
}

// close ends the serving.
func (s store) close() error { return s.server.Close() }
