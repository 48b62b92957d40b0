// Package rendezvous brings the processes of a job together. It assigns the ranks, and
// carries the data that ranks exchange before and between kernels.
//
// The agent calls [Serve], hands the server's Target to the workers, and every
// worker calls [Join]. When all are in, each holds a [Group]: the members by
// rank, collectives on byte strings, and a key-value store. When one of them
// dies, the context of every other member's Group ends at once, and names the rank.
//
// Decisions are made by the state machine in membership; this package
// connects it to gRPC, on an abstract Unix socket within a host and on TCP
// between hosts. File descriptors travel separately, through fdpass.
//
// # Credentials
//
// On a Unix socket both ends check that the other process belongs to the same user.
// On TCP beyond loopback the server requires TLS or a token. A call without the token
// is rejected from its headers, before its message is read: see package transport.
// Each member gets a random session key when it joins, and its calls carry that key.
//
// Between hosts, node 0 makes a new token for each run. The user's own token, by
// which the agents meet, never reaches a worker.
package rendezvous

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"

	"gpurun/rendezvous/membership"
	"gpurun/rendezvous/store"
	"gpurun/rendezvous/transport"
	pb "gpurun/rendezvous/v1"
)

// The defaults of a ServerConfig.
const (
	DefaultJoinTimeout      = 5 * time.Minute
	DefaultHeartbeatTimeout = 30 * time.Second
)

// ServerConfig is what a rendezvous needs to know beforehand.
type ServerConfig struct {
	WorldSize  int
	Generation int // told to the members; counts the restarts of a job

	// Listen is "unix-abstract:NAME", "host:port", or empty for an abstract
	// Unix socket with a fresh random name. Unix sockets accept only processes
	// of the same user. TCP beyond loopback needs TLS or a Token; without TLS the
	// token travels in the clear.
	Listen string
	Token  string // empty: none is asked for
	TLS    *transport.TLS

	JoinTimeout      time.Duration // 0: DefaultJoinTimeout
	HeartbeatTimeout time.Duration // 0: DefaultHeartbeatTimeout
	Logger           *zap.Logger   // nil: silent
}

func (c ServerConfig) withDefaults() ServerConfig {
	if c.JoinTimeout == 0 {
		c.JoinTimeout = DefaultJoinTimeout
	}
	if c.HeartbeatTimeout == 0 {
		c.HeartbeatTimeout = DefaultHeartbeatTimeout
	}
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	return c
}

// Server is a rendezvous that is open for its members.
type Server struct {
	target      string
	coordinator *coordinator
	grpc        *grpc.Server
	health      *health.Server
	stop        context.CancelFunc
	running     *errgroup.Group
	accepted    *transport.Listener
	refused     *transport.Refusals
}

// Serve opens a rendezvous. The caller closes it.
func Serve(config ServerConfig) (*Server, error) {
	config = config.withDefaults()
	state, err := membership.New(membership.Config{
		WorldSize:        config.WorldSize,
		Generation:       config.Generation,
		JoinTimeout:      config.JoinTimeout,
		HeartbeatTimeout: config.HeartbeatTimeout,
	})
	if err != nil {
		return nil, fmt.Errorf("serving the rendezvous: %w", err)
	}
	log := config.Logger.Named("rendezvous")
	refused := transport.NewRefusals(log)
	at, err := listen(config, refused)
	if err != nil {
		return nil, fmt.Errorf("serving the rendezvous: %w", err)
	}
	s := &Server{
		target:      at.target,
		coordinator: newCoordinator(state, log),
		grpc:        transport.NewServer(at.creds, config.Token, strings.HasPrefix(at.target, "unix"), refused),
		refused:     refused,
		health:      health.NewServer(),
	}
	s.register(config)
	s.start(at)
	return s, nil
}

func (s *Server) register(config ServerConfig) {
	pb.RegisterRendezvousServer(s.grpc, &groupService{
		coordinator:       s.coordinator,
		refused:           s.refused,
		generation:        config.Generation,
		heartbeatInterval: config.HeartbeatTimeout / 5,
	})
	pb.RegisterStoreServer(s.grpc, &storeService{coordinator: s.coordinator, store: store.New()})
	healthpb.RegisterHealthServer(s.grpc, s.health)
	for _, name := range []string{pb.Rendezvous_ServiceDesc.ServiceName, pb.Store_ServiceDesc.ServiceName} {
		s.health.SetServingStatus(name, healthpb.HealthCheckResponse_SERVING)
	}
}

func (s *Server) start(at *endpoint) {
	ctx, stop := context.WithCancel(context.Background())
	s.stop, s.running = stop, &errgroup.Group{}
	s.running.Go(func() error {
		s.coordinator.run(ctx)
		return nil
	})
	s.accepted = transport.NewListener(at.listener)
	s.running.Go(func() error { return s.grpc.Serve(s.accepted) })
}

// Target is the address that members pass to Join. On TCP it is the
// listener's own address: with a wildcard the caller puts in a host name that
// the members can reach.
func (s *Server) Target() string { return s.target }

// Refused ends a sentence with whom the server has refused, and why; it is empty when there were none.
func (s *Server) Refused() string { return s.refused.String() }

// Abort ends the job for all members: their groups' contexts end with
// *Aborted. Later joins are told the same.
func (s *Server) Abort(reason string) { s.abort(&Aborted{Reason: reason}) }

func (s *Server) abort(cause error) {
	s.coordinator.step(func(m *membership.StateMachine, _ membership.Time) []membership.Effect {
		return m.Abort(cause)
	})
}

// Close ends the server. Members that are still there see ErrServerGone. It
// returns within about a second, and then nothing of the server is left.
func (s *Server) Close() error {
	s.abort(fmt.Errorf("%w: it was closed", ErrServerGone))
	s.health.Shutdown()
	transport.Stop(s.grpc, s.accepted)
	s.stop()
	// ErrServerStopped: it was closed before it had begun.
	if err := s.running.Wait(); err != nil && !errors.Is(err, grpc.ErrServerStopped) {
		return fmt.Errorf("serving the rendezvous: %w", err)
	}
	return nil
}
