// Package rank has the steps that are common to all jobs of a rank: the rank joins its peers, opens
// its device, shares memory, and leaves. Other packages measure with a connected [Rank].
package rank

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync/atomic"

	"go.uber.org/zap"

	"gpurun/cudart"
	"gpurun/cudart/symm"
	"gpurun/kernels/collective"
	"gpurun/rendezvous/transport"
	"gpurun/worker/library"
	"gpurun/worker/peers"
	"gpurun/worker/process/report"
	"gpurun/worker/result/phases"
	"gpurun/worker/status"
	"gpurun/worker/workload"
)

// Options is what a worker gets from the process that started it.
type Options struct {
	Job       workload.Job
	Rank      int
	LocalRank int
	WorldSize int
	// LocalWorldSize is the number of ranks on this machine.
	LocalWorldSize int
	// Target and Token lead to the rendezvous.
	Target, Token string
	TLS           *transport.TLS // nil: plain text
	// Backend opens the device with the number Ordinal.
	Backend cudart.Backend
	Ordinal int
	// Files is the socket through which descriptors travel to the local
	// peers. It belongs to the rank.
	Files *os.File
	// Source gives the kernels' PTX.
	Source collective.Source
	// Libraries opens the external libraries that algorithms may need, by
	// their names.
	Libraries map[string]library.Open
	// Abort reports an error and ends the process at once. It is called when a library's code
	// does not return.
	Abort   func(error)
	Reports *report.Writer
	Logger  *zap.Logger
	// Phases records the rank's phases, which are reported in the end; nil: they are
	// not recorded.
	Phases *phases.Recorder
	// Asked, when set, is the signal upon which the rank reports its state.
	Asked <-chan os.Signal
}

// Rank is one rank of a job. Its methods are called from the main goroutine of the worker,
// in the order Join, CompareDevices, OpenLibraries, ChooseAlgorithms, ShareMemory, Connect,
// Leave, Close. The fields belong to the Rank; what runs on it between Connect and Leave
// uses them.
type Rank struct {
	// ID is the rank's number among World ranks.
	ID, World int
	Status    *status.Reporter
	// Libraries are the external libraries; OpenLibraries opens them.
	Libraries *library.Set
	// Peers are the other ranks, from Join on.
	Peers *peers.Peers
	// Device is the rank's own, from Join on, and Stream is where timed calls run.
	Device cudart.Device
	Stream cudart.Stream
	// Comm is how kernels reach all ranks' memory, from Connect on.
	Comm *collective.Comm

	options Options
	memory  *symm.Memory
	opened  atomic.Value   // the Device, for State
	closers []func() error // in the order of opening
}

// New returns a rank that has done nothing yet.
func New(o Options) *Rank {
	reporter := status.New(o.Reports, o.Phases)
	return &Rank{
		ID: o.Rank, World: o.WorldSize, Status: reporter, options: o,
		Libraries: library.New(library.Options{
			Open: o.Libraries, Paths: o.Job.LibraryPaths, Abort: o.Abort, Status: reporter,
		}),
	}
}

// OnClose has Close call f, before what was opened earlier is closed.
func (r *Rank) OnClose(f func() error) { r.closers = append(r.closers, f) }

// Leave frees everything in step with the peers: no rank frees memory that another still maps. A
// rank that fails does not call Leave. Its Close closes the device without waiting for kernels.
func (r *Rank) Leave(ctx context.Context) error {
	if err := r.Status.Announce("leaving"); err != nil {
		return err
	}
	r.Status.Begin(phases.Leave)
	ctx, cancel := r.Peers.Within(ctx)
	defer cancel()
	if err := r.Comm.Close(); err != nil {
		return fmt.Errorf("unloading the kernels: %w", err)
	}
	if err := r.Libraries.Leave(); err != nil {
		return err
	}
	if err := r.memory.Free(ctx); err != nil {
		return fmt.Errorf("freeing the shared memory: %w", err)
	}
	return r.Peers.Leave(ctx)
}

// Close undoes the steps, the last first, whatever has been reached. failure is why the
// rank ends, or nil: Close tells the peers, and returns failure and its own errors.
func (r *Rank) Close(ctx context.Context, failure error) error {
	if failure != nil {
		r.Libraries.Fail(failure)
		if r.Peers != nil {
			r.Peers.Fail(ctx, failure)
		}
	}
	r.Status.Begin(phases.Close)
	var errs []error
	for i := len(r.closers) - 1; i >= 0; i-- {
		errs = append(errs, r.closers[i]())
	}
	closing := errors.Join(errs...)
	if failure == nil {
		failure = closing
	} else if closing != nil { // most likely a consequence: it must not hide the cause
		r.options.Logger.Debug("closing after a failure", zap.Error(closing))
	}
	return errors.Join(failure, r.Status.SendPhases())
}
