package rendezvous

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"strings"

	"google.golang.org/grpc"
	healthpb "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"

	"gpurun/rendezvous/membership"
)

// The metadata that calls carry.
const (
	tokenHeader   = "authorization"
	tokenPrefix   = "Bearer "
	sessionHeader = "gpurun-session"
)

// tokenGuard refuses calls that do not carry the job's token. Health checks
// need none: whoever watches over the machines does not know it.
type tokenGuard struct {
	token string // empty: everybody may call
}

func (g tokenGuard) unary(ctx context.Context, req any, info *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if err := g.check(ctx, info.FullMethod); err != nil {
		return nil, toStatus(err)
	}
	return next(ctx, req)
}

func (g tokenGuard) stream(srv any, stream grpc.ServerStream, info *grpc.StreamServerInfo, next grpc.StreamHandler) error {
	if err := g.check(stream.Context(), info.FullMethod); err != nil {
		return toStatus(err)
	}
	return next(srv, stream)
}

func (g tokenGuard) check(ctx context.Context, method string) error {
	if g.token == "" || strings.HasPrefix(method, "/"+healthpb.Health_ServiceDesc.ServiceName+"/") {
		return nil
	}
	got, ok := strings.CutPrefix(header(ctx, tokenHeader), tokenPrefix)
	if !ok {
		return fmt.Errorf("%w: the call carries none", ErrToken)
	}
	if !sameSecret(got, g.token) {
		return ErrToken
	}
	return nil
}

// sameSecret compares in a time that tells neither content nor length.
func sameSecret(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// caller finds the member that makes a call by its session key.
func (c *coordinator) caller(ctx context.Context) (membership.SessionID, error) {
	id, ok := c.lookup(header(ctx, sessionHeader))
	if !ok {
		return 0, fmt.Errorf("%w: the call carries no session key of this group", ErrNotMember)
	}
	return id, nil
}

// header is a value of the incoming metadata, or empty.
func header(ctx context.Context, name string) string {
	if values := metadata.ValueFromIncomingContext(ctx, name); len(values) > 0 {
		return values[0]
	}
	return ""
}

// outgoing adds to a client's calls what the server wants to see.
func outgoing(ctx context.Context, token, sessionKey string) context.Context {
	if token != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, tokenHeader, tokenPrefix+token)
	}
	if sessionKey != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, sessionHeader, sessionKey)
	}
	return ctx
}
