package transport

import (
	"math"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/keepalive"
)

// The bounds of attempts to connect.
const (
	connectTimeout = 5 * time.Second // of one attempt
	retryEvery     = time.Second     // at most, while a server has yet to come up
	longest        = 365 * 24 * time.Hour
)

// clientKeepalive asks now and then whether the server is there. A local one that is gone
// has hung up, and one that has yet to get a turn on a busy host is there.
func clientKeepalive(local bool) keepalive.ClientParameters {
	p := keepalive.ClientParameters{Time: keepaliveInterval, Timeout: keepaliveTimeout, PermitWithoutStream: true}
	if local {
		p.Time = math.MaxInt64
	}
	return p
}

// connectBound bounds one attempt to connect. That to a local server needs no bound: it has hung up if it is gone, and
// during an attempt both may be stopped, as by Ctrl-Z.
func connectBound(local bool) time.Duration {
	if local {
		return longest
	}
	return connectTimeout
}

// Connect returns a client's connection with the project's limits. Address is
// as gRPC's own resolvers understand it. Nothing is sent before the first call.
func Connect(address string, creds credentials.TransportCredentials) (*grpc.ClientConn, error) {
	local := strings.HasPrefix(address, "unix")
	return grpc.NewClient(address,
		grpc.WithTransportCredentials(creds),
		grpc.WithNoProxy(), // a proxy has no business between workers
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: retryEvery / 10, Multiplier: 1.6, Jitter: 0.2, MaxDelay: retryEvery},
			MinConnectTimeout: connectBound(local),
		}),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(maxMessageBytes),
			grpc.MaxCallSendMsgSize(maxMessageBytes),
		),
		grpc.WithKeepaliveParams(clientKeepalive(local)),
	)
}
