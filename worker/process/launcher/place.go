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

// place is where the workers of an attempt meet: PyTorch's store at MASTER_ADDR and
// MASTER_PORT, which TORCHELASTIC_USE_AGENT_STORE tells them to use.
type place struct {
	port  int
	store *tcpstore.Server
}

// meet serves a store at an address of this machine, at a free port if port is 0. The
// protocol has no passwords: who can reach the address can use it. The caller closes
// it when the workers are gone.
func meet(ctx context.Context, host string, port int, logger *zap.Logger) (place, error) {
	at := net.JoinHostPort(host, strconv.Itoa(port))
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", at)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return place{}, fmt.Errorf("serving the workers' store at %s: somebody listens there; take another --master-port, or none for a free one", at)
	case err != nil:
		return place{}, fmt.Errorf("serving the workers' store at %s: %w; what --master-addr or --rdzv-endpoint names must be an address of this machine", at, err)
	}
	store, err := tcpstore.Serve(ctx, listener, tcpstore.Options{Logger: logger})
	if err != nil {
		return place{}, fmt.Errorf("serving the workers' store: %w", errors.Join(err, listener.Close()))
	}
	return place{port: listener.Addr().(*net.TCPAddr).Port, store: store}, nil
}

// close ends the store.
func (p place) close() error { return p.store.Close() }
