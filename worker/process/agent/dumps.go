package agent

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"gpurun/worker/process/dump/collect"
	"gpurun/worker/process/signals"
	"gpurun/worker/process/spawn"
)

// DumpTimeout is how long the end of a run waits for a dump.
const DumpTimeout = 4500 * time.Millisecond

// abandonBound is how long a run that ends at once waits for a dump that was told to end.
const abandonBound = 500 * time.Millisecond

// Dumps says when a run says what its workers are doing, and how.
type Dumps struct {
	// Write collects from the workers and publishes the result. It returns when that is done, and soon after the end of
	// its context. It is called by one goroutine at a time.
	Write func(ctx context.Context, request DumpRequest, workers []collect.Worker)
	// Asked receives requests for dumps. They end nothing, unless HangError is set. It may be nil.
	Asked <-chan DumpRequest
	// OnFailure has a dump written when a worker has failed, before the others are told to end, if that says more than
	// the failure: one of them is a Python program, or the worker has reported that it waited in vain.
	OnFailure bool
	// Python reports whether a worker, which may have ended, is or has started a Python program. It may be nil.
	Python func(localRank int) bool
	// Elsewhere says that other nodes have workers of the job, too.
	Elsewhere bool
	// Hang, when positive, is how long all workers may go without output, report and heartbeat.
	Hang time.Duration
	// Heartbeat returns a file that a worker may touch as a sign of life. It may be nil.
	Heartbeat func(localRank int) string
	// Silent, when set, is told when the workers of this node have been silent for Hang, and when one of them no longer
	// is. The other nodes then decide by Asked whether the job hangs. Without it, silence is a hang.
	Silent func(silent bool)
}

// DumpRequest is why a dump is written.
type DumpRequest struct {
	Reason string
	// Number is the dump's number among all nodes, for one that another node has asked for; else 0.
	Number int
	// Hang says that the job ends after the dump, because it hangs.
	Hang bool
	// Page, when set, is called with the page that was written.
	Page func(text []byte)
}

// dumping is the dump in progress, and what waits for its end. It belongs to the group's loop.
type dumping struct {
	done     chan struct{} // closed when the dump is over; nil: none is in progress
	cancel   context.CancelFunc
	deadline time.Time // after which nothing waits for it
	after    []func()
	queued   []DumpRequest

	silent bool // Dumps.Silent has been told so
}

// inProgress reports whether there is a dump to wait for.
func (d *dumping) inProgress() bool { return d.done != nil && time.Now().Before(d.deadline) }

// abandon ends the dump in progress, and waits shortly for its end.
func (d *dumping) abandon() {
	if d.done == nil {
		return
	}
	d.cancel()
	select {
	case <-d.done:
	case <-time.After(abandonBound):
	}
}

// asked receives requests for dumps.
func (s *Spec) asked() <-chan DumpRequest {
	if s.Dumps == nil {
		return nil
	}
	return s.Dumps.Asked
}

// dump begins a dump, or has it follow the one in progress.
func (g *group) dump(request DumpRequest) {
	d := &g.dumping
	if d.done != nil {
		d.queued = append(d.queued, request)
		return
	}
	if request.Hang {
		silence := g.spec.Dumps.Hang
		d.after = append(d.after, func() { g.end(syscall.SIGTERM, g.spec.Grace, &HangError{Silence: silence}) })
	}
	workers, done := g.targets(), make(chan struct{})
	ctx, cancel := context.WithTimeout(context.Background(), DumpTimeout) // the end of the run waits for it
	d.done, d.cancel, d.deadline = done, cancel, time.Now().Add(DumpTimeout+time.Second)
	go func() {
		defer close(done)
		defer cancel()
		g.spec.Dumps.Write(ctx, request, workers)
	}()
}

// dumped goes on after a dump: with what waits for it, and then with the next dump.
func (g *group) dumped() {
	d := &g.dumping
	after, queued := d.after, d.queued
	d.done, d.after, d.queued = nil, nil, nil
	for _, f := range after {
		f()
	}
	for _, request := range queued {
		g.dump(request)
	}
}

// afterDump calls f at once, or at the end of the dump in progress.
func (g *group) afterDump(f func()) {
	if g.dumping.inProgress() {
		g.dumping.after = append(g.dumping.after, f)
		return
	}
	f()
}

// dumpFailure begins a dump if a worker has failed and the others are to be dumped before they end.
func (g *group) dumpFailure() {
	dumps := g.spec.Dumps
	alone := g.workers.running() == 0 && (dumps == nil || !dumps.Elsewhere)
	if dumps == nil || !dumps.OnFailure || alone || g.ending.begun() || g.dumping.done != nil {
		return
	}
	first := g.attribution().firstSoFar()
	if first.Report != nil && waitedInVain(first.Report) || g.python() {
		g.dump(DumpRequest{Reason: first.Error()})
	}
}

// python reports whether a worker is a Python program, or was.
func (g *group) python() bool {
	if known := g.spec.Dumps.Python; known != nil {
		for _, w := range g.workers {
			if known(w.LocalRank) {
				return true
			}
		}
	}
	return collect.AnyPython(g.targets())
}

// targets are the workers as a dump sees them.
func (g *group) targets() (all []collect.Worker) {
	for _, w := range g.workers {
		t := collect.Worker{Rank: w.Rank, LocalRank: w.LocalRank, PID: w.PID, Output: w.lastWrite()}
		switch {
		case !w.running():
			t.Exit = DescribeExit(*w.exit)
		case w.reportedFailure() != nil:
			t.Exit = HasFailed
		}
		all = append(all, t)
	}
	return all
}

// HasFailed is what a worker does that has reported its failure and is about to end.
const HasFailed = "failed, and about to end"

// DescribeExit says how a worker ended, as a dump does.
func DescribeExit(exit spawn.ExitStatus) string {
	if exit.Signal != 0 {
		return "killed by " + signals.Name(exit.Signal)
	}
	return fmt.Sprintf("exited with code %d", exit.Code)
}
