// Package transport has what all gRPC servers and clients of the project
// share: limits, the token of a job, mutual TLS, and listeners that can hang up.
//
// # Limits against clients without credentials
//
// A call without the token is rejected from its headers, before its message is
// read. Otherwise many calls with large messages could take the server's memory.
// A new connection must complete its handshake within [HandshakeTimeout].
//
// A server takes at most half of the file descriptors that its process may have:
// see [MostConnections]. The agent needs the others to start workers.
//
// # Errors that a retry does not repair
//
// gRPC retries a connection whose TLS handshake fails. If the cause is a wrong
// certificate, or TLS on one side only, a retry does not help. [TLS.Client] then
// reports a sentence that says what is wrong and which flags to change.
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

// requireToken rejects calls that do not carry the token, if there is one, with
// codes.Unauthenticated. It is a tap handle, which runs when the headers are known.
// An interceptor would run after the message of a unary call has been read.
func requireToken(token string, refused *Refusals) tap.ServerInHandle {
	return func(ctx context.Context, call *tap.Info) (context.Context, error) {
		if err := checkToken(call.Header, token); err != nil {
			refused.NoteCall(ctx, err.Error())
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
