package transport

import (
	"math"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
)

// Bounds on connections. What one message of a protocol may hold leaves room
// for the rest of it.
const (
	maxMessageBytes = 16 << 20
	maxHeaderBytes  = 64 << 10
	maxStreams      = 1024 // per connection

	keepaliveInterval = 10 * time.Second
	keepaliveTimeout  = 20 * time.Second
	closeGrace        = time.Second
	idleTimeout       = time.Minute // of a connection without a call: a member's session is one
)

// HandshakeTimeout bounds how long a new connection may stay silent.
const HandshakeTimeout = 10 * time.Second

// NewServer returns a server with the project's limits, which asks for the token
// on every call. With an empty token every client that the credentials admit may call.
// The server notes whom it refuses. Local clients that are silent are not asked whether they are there, see
// clientKeepalive.
func NewServer(creds credentials.TransportCredentials, token string, local bool, refused *Refusals) *grpc.Server {
	alive := keepalive.ServerParameters{Time: keepaliveInterval, Timeout: keepaliveTimeout, MaxConnectionIdle: idleTimeout}
	if local {
		alive.Time = math.MaxInt64
	}
	return grpc.NewServer(
		grpc.Creds(creds),
		grpc.InTapHandle(requireToken(token, refused)),
		grpc.MaxRecvMsgSize(maxMessageBytes),
		grpc.MaxSendMsgSize(maxMessageBytes),
		grpc.MaxHeaderListSize(maxHeaderBytes),
		grpc.MaxConcurrentStreams(maxStreams),
		grpc.ConnectionTimeout(HandshakeTimeout),
		grpc.WaitForHandlers(true),
		grpc.KeepaliveParams(alive),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{
			MinTime:             keepaliveInterval / 2,
			PermitWithoutStream: true,
		}),
	)
}

// Stop ends a server that serves the listener. Handlers have about a second
// to end by themselves; then nothing of the server is left.
func Stop(server *grpc.Server, l *Listener) {
	forced := time.AfterFunc(closeGrace, func() {
		l.hangUp()
		server.Stop()
	})
	server.GracefulStop()
	forced.Stop()
}
