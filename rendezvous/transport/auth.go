// Package transport is what all gRPC servers and clients of the project
// have in common: limits, the job's token, mutual TLS, and listeners that can hang up.
package transport

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/grpc/tap"
)

// ErrToken says that a server did not accept the job's token.
var ErrToken = errors.New("wrong token for this job")

// The metadata by which calls carry the token.
const (
	tokenHeader = "authorization"
	tokenPrefix = "Bearer "
)

// requireToken refuses calls that do not carry the job's token, where there is
// one, with codes.Unauthenticated. It does so as soon as it knows the call's
// headers: an interceptor comes after the message of a unary call has been read, and
// many of those would be much memory for a stranger to take.
func requireToken(token string) tap.ServerInHandle {
	return func(ctx context.Context, call *tap.Info) (context.Context, error) {
		if err := checkToken(call.Header, token); err != nil {
			return nil, status.Error(codes.Unauthenticated, err.Error())
		}
		return ctx, nil
	}
}

func checkToken(headers metadata.MD, want string) error {
	if want == "" {
		return nil
	}
	values := headers.Get(tokenHeader)
	if len(values) == 0 {
		return fmt.Errorf("%w: the call carries none", ErrToken)
	}
	if got, ok := strings.CutPrefix(values[0], tokenPrefix); !ok || !sameSecret(got, want) {
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
