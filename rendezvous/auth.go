package rendezvous

import (
	"context"
	"fmt"

	"google.golang.org/grpc/metadata"

	"gpurun/rendezvous/membership"
	"gpurun/rendezvous/transport"
)

// sessionHeader is the metadata by which calls carry their session key.
const sessionHeader = "gpurun-session"

// caller finds the member that makes a call by its session key.
func (c *coordinator) caller(ctx context.Context) (membership.SessionID, error) {
	id, ok := c.lookup(transport.Header(ctx, sessionHeader))
	if !ok {
		return 0, fmt.Errorf("%w: the call carries no session key of this group", ErrNotMember)
	}
	return id, nil
}

// outgoing adds to a client's calls what the server wants to see.
func outgoing(ctx context.Context, token, sessionKey string) context.Context {
	ctx = transport.WithToken(ctx, token)
	if sessionKey != "" {
		ctx = metadata.AppendToOutgoingContext(ctx, sessionHeader, sessionKey)
	}
	return ctx
}
