package launcher

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/zap"

	"gpurun/rendezvous/elastic"
	"gpurun/worker/process/agent"
	"gpurun/worker/process/signals"
)

// announceAfter is how long the other nodes do not hear of a failure, while the node
// where it happened ends its other workers. These may have recorded an earlier one,
// but may also take all of the grace, and the others' workers wait for them in vain.
// It is as long for a signal, which mostly reaches all nodes: each ends because of its own.
const announceAfter = 500 * time.Millisecond

// announcer tells the other nodes of a failure before all workers of this one have
// ended, if they take their time.
type announcer struct {
	round *elastic.Round
	log   *zap.Logger
	timer *time.Timer // nil: nothing has failed
	first atomic.Pointer[agent.Failure]
}

// failed is called when a worker has failed, and again when another one turns out to
// have done so earlier. It does not wait.
func (a *announcer) failed(f *agent.Failure) {
	a.first.Store(f)
	if a.timer != nil {
		return
	}
	a.timer = time.AfterFunc(announceAfter, func() {
		if err := a.round.Announce(failureOf(a.first.Load())); err != nil {
			a.log.Debug("telling the other nodes of a failure", zap.Error(err))
		}
	})
}

// cancel leaves it to Round.Fail, which knows how all workers ended.
func (a *announcer) cancel() {
	if a.timer != nil {
		a.timer.Stop()
	}
}

// failureOf is a worker's failure as other nodes see it.
func failureOf(f *agent.Failure) elastic.Failure {
	return elastic.Failure{Reason: f.Error(), ExitCode: (&agent.Outcome{First: f}).ExitCode()}
}

// departure is a node's goodbye to the others, which it says once.
type departure struct {
	member *elastic.Member
	log    *zap.Logger
	once   sync.Once
}

func (d *departure) say(reason string) {
	d.once.Do(func() {
		if err := d.member.Close(reason); err != nil {
			d.log.Debug("leaving the other nodes", zap.Error(err))
		}
	})
}

// whenAsked says it some time after the end of ctx, which is that of the whole job.
// Nobody else may use the member before the function that it returns has returned.
func (d *departure) whenAsked(ctx context.Context) (cancel func()) {
	canceled, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		select {
		case <-ctx.Done():
		case <-canceled:
			return
		}
		select {
		case <-time.After(announceAfter):
			d.say(askedToEnd(context.Cause(ctx)))
		case <-canceled:
		}
	}()
	return func() {
		close(canceled)
		<-over
	}
}

// askedToEnd is why a node leaves that was told to.
func askedToEnd(cause error) string {
	if signalled := new(signals.Received); errors.As(cause, signalled) {
		return "it was asked to end by " + signals.Name(signalled.Signal)
	}
	return "it was asked to end: " + cause.Error()
}
