package rendezvous

import (
	"context"
	"errors"
	"fmt"

	pb "gpurun/rendezvous/v1"
)

// AllGather gives every member what every member contributed, by rank. All
// members must call it, in the same order as their other collectives of the
// same name. The contributions together may have at most 15 MiB.
//
// Like all collectives it completes for all members or for none; only a member
// whose own context ends while the answer is on its way sees an error where
// the others see success. Errors:
// *Straggler when the context's deadline passes, *PeerLeft, *Aborted,
// ErrMismatch, ErrAbandoned when another member gave up, ErrServerGone.
func (g *Group) AllGather(ctx context.Context, name string, mine []byte) ([][]byte, error) {
	all, err := g.exchange(ctx, &pb.ExchangeRequest{
		Operation: pb.Operation_OPERATION_ALL_GATHER,
		Name:      name,
		Data:      mine,
	})
	if err == nil && len(all) != g.WorldSize() {
		err = fmt.Errorf("all-gather %q: the server answered with %d parts for %d ranks", name, len(all), g.WorldSize())
	}
	if err != nil {
		return nil, err
	}
	return all, nil
}

// Broadcast gives every member the root's data; the others' is ignored. See
// AllGather.
func (g *Group) Broadcast(ctx context.Context, name string, root int, data []byte) ([]byte, error) {
	if g.rank != root {
		data = nil
	}
	all, err := g.exchange(ctx, &pb.ExchangeRequest{
		Operation: pb.Operation_OPERATION_BROADCAST,
		Name:      name,
		Root:      int32(root),
		Data:      data,
	})
	if err == nil && len(all) != 1 {
		err = fmt.Errorf("broadcast %q: the server answered with %d parts", name, len(all))
	}
	if err != nil {
		return nil, err
	}
	return all[0], nil
}

// Barrier returns when every member has called it. See AllGather.
func (g *Group) Barrier(ctx context.Context, name string) error {
	_, err := g.exchange(ctx, &pb.ExchangeRequest{
		Operation: pb.Operation_OPERATION_BARRIER,
		Name:      name,
	})
	return err
}

func (g *Group) exchange(ctx context.Context, request *pb.ExchangeRequest) ([][]byte, error) {
	request.Sequence = g.nextSequence(request.Name)
	var response *pb.ExchangeResponse
	err := g.call(ctx, func(ctx context.Context, timeoutMs int64) (err error) {
		request.TimeoutMs = timeoutMs
		response, err = g.api.Exchange(ctx, request)
		return err
	})
	return response.GetData(), err
}

// nextSequence counts the uses of a name, so that each member's nth use meets
// the others' nth.
func (g *Group) nextSequence(name string) uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := g.sequences[name]
	g.sequences[name] = n + 1
	return n
}

// call makes a bounded call which ends early with the group, and finds the
// best reason if it fails.
func (g *Group) call(ctx context.Context, do func(ctx context.Context, timeoutMs int64) error) error {
	if err := g.Context().Err(); err != nil {
		return context.Cause(g.Context())
	}
	ctx, cancelBound := g.bounded(ctx)
	defer cancelBound()
	callCtx, cancel := context.WithCancel(outgoing(context.WithoutCancel(ctx), g.options.Token, g.sessionKey))
	defer cancel()
	defer cancelAfter(ctx, cancel, g.departed, g.session.awake)()
	defer cancelAfter(g.Context(), cancel, g.departed, g.session.awake)()

	err := fromStatus(do(callCtx, remaining(ctx)))
	if !errors.Is(err, context.Canceled) {
		return err
	}
	if g.Context().Err() != nil {
		return context.Cause(g.Context())
	}
	return noAnswer(err, context.Cause(ctx))
}

// departed reports whether the group is over because a member is gone.
func (g *Group) departed() bool {
	var left *PeerLeft
	return errors.As(context.Cause(g.Context()), &left)
}
