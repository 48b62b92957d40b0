package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"go.uber.org/zap"

	"gpurun/cudart/symm"
	"gpurun/rendezvous"
	"gpurun/rendezvous/fdpass"
	"gpurun/worker/result/phases"
)

// join meets the other ranks, and meanwhile opens the device, which takes longer. That
// opening failed is said once all ranks have met: the others then know who has left.
func (r *rank) join(ctx context.Context, open func() error) error {
	host, err := os.Hostname()
	if r.host = host; err != nil {
		return fmt.Errorf("looking up the host's name: %w", err)
	}
	r.files, err = fdpass.Open(r.Files, r.LocalRank, r.LocalWorldSize)
	if err != nil {
		return fmt.Errorf("opening the descriptor socket: %w", err)
	}
	r.onClose(r.files.Close)
	r.onClose(r.closeGroup)
	met := make(chan error, 1)
	go func() { met <- r.meetRanks(ctx) }()
	if err := open(); err != nil {
		<-met
		return err
	}
	r.Phases.Begin(phases.Join)
	return errors.Join(r.phase("joining the rendezvous"), <-met)
}

// meetRanks waits until all ranks are in the rendezvous.
func (r *rank) meetRanks(ctx context.Context) (err error) {
	defer r.Phases.Concurrent(phases.Join)()
	ctx, cancel := r.within(ctx)
	defer cancel()
	member := rendezvous.Member{Rank: r.Rank, LocalRank: r.LocalRank, WorldSize: r.WorldSize, Host: r.host, PID: os.Getpid()}
	r.group, err = rendezvous.Join(ctx, r.Target, member, rendezvous.Options{Token: r.Token, TLS: r.TLS, Logger: r.Logger})
	if err != nil {
		return fmt.Errorf("joining the rendezvous: %w", err)
	}
	return nil
}

func (r *rank) closeGroup() error {
	if r.group == nil {
		return nil
	}
	return r.group.Close()
}

// untilDeparture ends with ctx or, with the cause, when one of the other ranks departs.
func (r *rank) untilDeparture(ctx context.Context) context.Context {
	ctx, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(r.group.Context(), func() { cancel(context.Cause(r.group.Context())) })
	r.onClose(func() error {
		stop()
		cancel(nil)
		return nil
	})
	return ctx
}

// leave gives everything back in step with the peers: no rank frees memory
// that another still maps. A rank that fails does not get here: it closes the
// device as it is, without waiting for the kernels.
func (r *rank) leave(ctx context.Context) error {
	if err := r.phase("leaving"); err != nil {
		return err
	}
	r.Phases.Begin(phases.Leave)
	ctx, cancel := r.within(ctx)
	defer cancel()
	if err := r.comm.Close(); err != nil {
		return fmt.Errorf("unloading the kernels: %w", err)
	}
	for _, part := range r.leaving {
		if err := part(); err != nil {
			return err
		}
	}
	if err := r.memory.Free(ctx); err != nil {
		return fmt.Errorf("freeing the shared memory: %w", err)
	}
	if err := r.group.Leave(ctx); err != nil {
		return fmt.Errorf("leaving the rendezvous: %w", err)
	}
	return nil
}

// say tells the peers on other machines why this rank fails; those on this one
// hear of it from the agent.
func (r *rank) say(ctx context.Context, reason error) {
	if r.group == nil || !r.Job.SpansMachines() {
		return
	}
	if err := r.group.Fail(context.WithoutCancel(ctx), fmt.Errorf("on %s: %w", r.host, reason)); err != nil {
		r.Logger.Debug("telling the peers of a failure", zap.Error(err))
	}
}

// exchange is the rendezvous as symmetric memory needs it.
type exchange struct {
	*rendezvous.Group
	files *fdpass.Peer
}

// AllGatherFiles sends the own file to every local peer and returns theirs.
func (e exchange) AllGatherFiles(ctx context.Context, name string, mine *os.File) ([]*os.File, error) {
	return e.files.AllGather(ctx, name, mine)
}

// gather returns what every rank passed, by rank.
func gather[T any](ctx context.Context, g *rendezvous.Group, name string, mine T) ([]T, error) {
	data, err := json.Marshal(mine)
	if err != nil {
		return nil, fmt.Errorf("gathering %s: %w", name, err)
	}
	all, err := g.AllGather(ctx, name, data)
	if err != nil {
		return nil, fmt.Errorf("gathering %s: %w", name, err)
	}
	values := make([]T, len(all))
	for rank, data := range all {
		if err := json.Unmarshal(data, &values[rank]); err != nil {
			return nil, fmt.Errorf("gathering %s: reading what rank %d sent: %w", name, rank, err)
		}
	}
	return values, nil
}

var _ symm.Exchange = exchange{}
