// Package worker is the story of one rank: it joins the rendezvous, opens its
// device, shares memory with its peers, runs the job's collectives or products of
// matrices, verifies and times them, and reports. Or it checks the links.
package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"go.uber.org/zap"

	"gpurun/cudart"
	"gpurun/cudart/symm"
	"gpurun/kernels/collective"
	"gpurun/rendezvous"
	"gpurun/rendezvous/fdpass"
	"gpurun/rendezvous/transport"
	"gpurun/worker/process/report"
	"gpurun/worker/result"
	"gpurun/worker/result/phases"
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
	// peers. It belongs to Run.
	Files *os.File
	// Source gives the kernels' PTX.
	Source collective.Source
	// Libraries opens the libraries of others that algorithms may need, by
	// their names.
	Libraries map[string]OpenLibrary
	// Abort reports an error and ends the process at once, for when foreign
	// code does not return.
	Abort   func(error)
	Reports *report.Writer
	Logger  *zap.Logger
	// Phases notes what the rank does when, and is reported in the end; nil: nobody
	// wants to know.
	Phases *phases.Recorder
}

// Run is the whole life of one rank. It returns when the job is done on all
// ranks, wrong results included, or with the first thing that kept this rank
// from going on; [Explain] turns that into a report.
//
// It must be called from the main goroutine of the worker: the device locks it
// to its thread.
func Run(ctx context.Context, o Options) (err error) {
	r := &rank{Options: o, fastest: map[string]float64{}}
	defer func() {
		if err != nil {
			r.failure.set(err)
			r.say(ctx, err)
		}
		closing := r.close()
		if err == nil {
			err = closing
		} else if closing != nil { // most likely a consequence: it must not hide the cause
			r.Logger.Debug("closing after a failure", zap.Error(closing))
		}
		err = errors.Join(err, r.reportPhases())
	}()

	if r.plan, err = r.Job.Plan(r.WorldSize); err != nil {
		return err
	}
	if err := r.join(ctx, r.openDevice); err != nil {
		return err
	}
	ctx = r.untilDeparture(ctx)
	if err := r.meetDevices(ctx); err != nil {
		return err
	}
	if err := r.openLibraries(ctx); err != nil {
		return err
	}
	if err := r.chooseAlgorithms(); err != nil {
		return err
	}
	if err := r.shareMemory(ctx); err != nil {
		return err
	}
	if err := r.work(ctx); err != nil {
		return err
	}
	return r.leave(ctx)
}

// work does what the job is about.
func (r *rank) work(ctx context.Context) error {
	switch {
	case r.Job.Pairs:
		return r.runPairs(ctx)
	case r.Job.Products != nil:
		return r.runProducts(ctx)
	}
	if err := r.measureCeiling(ctx); err != nil {
		return err
	}
	return r.runSweep(ctx)
}

// rank holds what the steps of Run hand on to each other. A nil field has not
// been reached.
type rank struct {
	Options
	plan   workload.Plan
	group  *rendezvous.Group
	files  *fdpass.Peer
	device cudart.Device
	stream cudart.Stream
	caps   workload.Capabilities
	pdl    bool
	memory *symm.Memory
	// libraries are those that are open; leaving is what to do before the memory
	// is freed.
	libraries map[string]Library
	leaving   []func() error
	watchdog  *watchdog // of libraries; nil: there are none
	layout    workload.Layout
	comm      *collective.Comm
	fastest   map[string]float64 // what looks found
	buffers   hostBuffers
	closers   []func() error // in the order of opening
	doing     string         // the phase
	said      time.Time      // when the phase was reported last
	host      string
	failure   failure
}

func (r *rank) onClose(f func() error) { r.closers = append(r.closers, f) }

// close undoes the steps, the last first.
func (r *rank) close() error {
	r.Phases.Begin(phases.Close)
	var errs []error
	for i := len(r.closers) - 1; i >= 0; i-- {
		errs = append(errs, r.closers[i]())
	}
	return errors.Join(errs...)
}

// reportPhases tells the launcher where the time went, if it wants to know.
func (r *rank) reportPhases() error {
	if r.Phases == nil {
		return nil
	}
	return r.Reports.Result(result.Update{Phases: r.Phases.Spans()})
}

// phase says what the rank does from now on; the launcher names it should the
// rank fail or fall silent.
func (r *rank) phase(format string, args ...any) error {
	r.doing, r.said = fmt.Sprintf(format, args...), time.Now()
	return r.Reports.Phase(r.doing)
}

// aliveEvery is far below the silence after which a launcher gives a worker up.
const aliveEvery = 5 * time.Second

// alive repeats the phase now and then. Only who has made progress calls it.
func (r *rank) alive() error {
	if time.Since(r.said) < aliveEvery {
		return nil
	}
	return r.phase("%s", r.doing)
}

// waitSlack is what a wait between processes gets on top of the timeout, so
// that the kernels' own, more telling, timeout comes first.
const waitSlack = 2 * time.Second

// verifyingSpeed is how many bytes of one rank's input the reference works through
// in a second on a slow machine, and less.
const verifyingSpeed = 4 << 20

// afterVerifying bounds a wait for peers that may still be verifying a case.
func (r *rank) afterVerifying(ctx context.Context, c workload.Case) (context.Context, context.CancelFunc) {
	verifying := time.Duration(c.Bytes()/verifyingSpeed*int64(r.WorldSize)) * time.Second
	return context.WithTimeout(ctx, r.Job.Timeout+waitSlack+verifying)
}

// within bounds one wait for the peers.
func (r *rank) within(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(ctx, r.Job.Timeout+waitSlack)
}
