package transport

import (
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
)

// Connect returns a client's connection with the project's limits. Address is
// as gRPC's own resolvers understand it. Nothing is sent before the first call.
func Connect(address string, creds credentials.TransportCredentials) (*grpc.ClientConn, error) {
	return grpc.NewClient(address,
		grpc.WithTransportCredentials(creds),
		grpc.WithNoProxy(), // a proxy has no business between workers
		grpc.WithDisableServiceConfig(),
		grpc.WithDisableRetry(),
		grpc.WithConnectParams(grpc.ConnectParams{
			Backoff:           backoff.Config{BaseDelay: retryEvery / 10, Multiplier: 1.6, Jitter: 0.2, MaxDelay: retryEvery},
			MinConnectTimeout: connectTimeout,
		}),
		grpc.WithDefaultCallOptions(
			grpc.MaxCallRecvMsgSize(maxMessageBytes),
			grpc.MaxCallSendMsgSize(maxMessageBytes),
		),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time:                keepaliveInterval,
			Timeout:             keepaliveTimeout,
			PermitWithoutStream: true,
		}),
	)
}
