package rank

import (
	"context"
	"errors"
	"fmt"

	"gpurun/worker/peers"
	"gpurun/worker/result/phases"
)

// Join meets the other ranks, and meanwhile opens the device, which takes longer. The
// context that it returns ends when another rank departs. An error of the device is returned
// only once all ranks have met: the others then know which rank has left.
func (r *Rank) Join(ctx context.Context) (context.Context, error) {
	o := r.options
	var err error
	r.Peers, err = peers.Open(peers.Options{
		Rank: o.Rank, WorldSize: o.WorldSize, LocalRank: o.LocalRank, LocalWorldSize: o.LocalWorldSize,
		Target: o.Target, Token: o.Token, TLS: o.TLS, Files: o.Files,
		Timeout: o.Job.Timeout, SpansMachines: o.Job.SpansMachines(), Logger: o.Logger,
		Steps: r.Status.Steps(),
	})
	if err != nil {
		return ctx, err
	}
	r.OnClose(r.Peers.Close)
	met := make(chan error, 1)
	go func() {
		end := r.Status.Beside(phases.Join)
		err := r.Peers.Join(ctx)
		end()
		met <- err
	}()
	if err := r.openDevice(); err != nil {
		<-met
		return ctx, err
	}
	r.Status.Begin(phases.Join)
	if err := errors.Join(r.Status.Announce("joining the rendezvous"), <-met); err != nil {
		return ctx, err
	}
	ctx, stop := r.Peers.UntilDeparture(ctx)
	r.OnClose(func() error {
		stop()
		return nil
	})
	return ctx, nil
}

func (r *Rank) openDevice() (err error) {
	o := r.options
	if err := r.Status.Announce("opening device %d", o.Ordinal); err != nil {
		return err
	}
	r.Status.Begin(phases.Init)
	if err := o.Backend.Init(); err != nil {
		return fmt.Errorf("initializing the driver for device %d: %w", o.Ordinal, err)
	}
	r.Status.Begin(phases.Open)
	if r.Device, err = o.Backend.Open(o.Ordinal); err != nil {
		return fmt.Errorf("opening device %d: %w", o.Ordinal, err)
	}
	r.opened.Store(r.Device)
	r.OnClose(r.Device.Close)
	if r.Stream, err = r.Device.NewStream(); err != nil {
		return fmt.Errorf("creating a stream: %w", err)
	}
	r.OnClose(r.Stream.Close)
	return nil
}
