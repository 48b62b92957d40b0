// Package transport is what all gRPC servers and clients of the project
// have in common: limits, the job's token, and listeners that can hang up.
package transport

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
)

// ErrToken says that a server did not accept the job's token.
var ErrToken = errors.New("wrong token for this job")

// The metadata by which calls carry the token.
const (
	tokenHeader = "authorization"
	tokenPrefix = "Bearer "
)

// Guard refuses calls that do not carry the job's token. A health check needs
// none: whoever watches over the machines does not know it. To be told of changes
// needs it, because that call lasts.
type Guard struct {
	Token    string            // empty: everybody may call
	ToStatus func(error) error // makes a refusal a status error
}

// Unary is a [grpc.UnaryServerInterceptor].
func (g Guard) Unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if err := g.check(ctx, info.FullMethod); err != nil {
		return nil, g.ToStatus(err)
	}
	return next(ctx, req)
}

// Stream is a [grpc.StreamServerInterceptor].
func (g Guard) Stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if err := g.check(stream.Context(), info.FullMethod); err != nil {
		return g.ToStatus(err)
	}
	return next(srv, stream)
}

func (g Guard) check(ctx context.Context, method string) error {
	if g.Token == "" || method == healthpb.Health_Check_FullMethodName {
		return nil
	}
	got, ok := strings.CutPrefix(Header(ctx, tokenHeader), tokenPrefix)
	if !ok {
		return fmt.Errorf("%w: the call carries none", ErrToken)
	}
	if !sameSecret(got, g.Token) {
		return ErrToken
	}
	return nil
}

// sameSecret compares in a time that tells neither content nor length.
func sameSecret(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// Header is a value of the incoming metadata, or empty.
func Header(ctx context.Context, name string) string {
	if values := metadata.ValueFromIncomingContext(ctx, name); len(values) > 0 {
		return values[0]
	}
	return ""
}

// WithToken adds the token, where there is one, to a client's calls.
func WithToken(ctx context.Context, token string) context.Context {
	if token == "" {
		return ctx
	}
	return metadata.AppendToOutgoingContext(ctx, tokenHeader, tokenPrefix+token)
}
