package rank

import (
	"context"
	"time"

	"gpurun/cudart"
	"gpurun/worker/hang"
	"gpurun/worker/process/report"
)

// The steps that a rank tells of when it is asked, beside its waits for peers.
const (
	waitStep   = "waiting for its stream"
	launchStep = "launching calls"
)

// Launching notes that the rank launches calls until end is called: launches wait while the stream is full.
func (r *Rank) Launching() (end func()) { return r.Status.Steps().Enter(launchStep) }

// State says in which step the rank is, and where its kernels are, if the device tells. Unlike the other methods it may
// be called from any goroutine.
func (r *Rank) State(ctx context.Context) report.State {
	name, since := r.Status.Steps().Now()
	s := report.State{Step: name}
	if name != "" {
		s.Seconds = time.Since(since).Seconds()
	}
	device, _ := r.opened.Load().(cudart.Inspector)
	if device == nil {
		return s
	}
	ctx, cancel := context.WithTimeout(ctx, inspectionTime)
	defer cancel()
	if kernels, err := device.Inspect(ctx); err == nil && len(kernels) > 0 {
		h := hang.NewReport("", 0, kernels, true)
		s.Kernel = h.What + ": " + h.Where
	}
	return s
}

// AnswerRequests reports the state of the rank whenever it is asked, until stop is called.
func (r *Rank) AnswerRequests() (stop func()) {
	if r.options.Asked == nil {
		return func() {}
	}
	done, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		for {
			select {
			case <-r.options.Asked:
				s := r.State(context.Background())
				_ = r.options.Reports.Send(report.Message{Kind: report.KindState, State: &s}) // without an agent nobody asks
			case <-done:
				return
			}
		}
	}()
	return func() {
		close(done)
		<-over
	}
}
