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

// announceAfter is the time between a worker's failure and its announcement to the other
// nodes. Meanwhile the node ends its other workers, of which one may have recorded an
// earlier failure. The announcement does not wait for their whole grace, during which
// the other nodes' workers would wait in vain. The end of a node by a signal is announced
// after the same time: most signals reach all nodes, and each then ends by its own.
const announceAfter = 500 * time.Millisecond

// announcer announces a failure to the other nodes, if the workers of this node have not
// ended within announceAfter.
type announcer struct {
	round *elastic.Round
	log   *zap.Logger
	fault func() error // as Job.Fault; nil: unknown
	timer *time.Timer  // nil: no worker has failed
	first atomic.Pointer[agent.Failure]
}

// failed is called when a worker has failed, and again when another worker turns out to
// have failed earlier. It does not wait.
func (a *announcer) failed(f *agent.Failure) {
	a.first.Store(f)
	if a.timer != nil {
		return
	}
	a.timer = time.AfterFunc(announceAfter, func() {
		if a.fault != nil && a.fault() != nil {
			return // this node leaves for another reason, when its workers have ended
		}
		if err := a.round.Announce(failureOf(a.first.Load())); err != nil {
			a.log.Debug("telling the other nodes of a failure", zap.Error(err))
		}
	})
}

// cancel stops the announcement: Round.Fail, which knows how all workers ended, does it.
func (a *announcer) cancel() {
	if a.timer != nil {
		a.timer.Stop()
	}
}

// failureOf is a worker's failure as other nodes see it.
func failureOf(f *agent.Failure) elastic.Failure {
	return elastic.Failure{Reason: f.Error(), ExitCode: (&agent.Outcome{First: f}).ExitCode()}
}

// departure tells the other nodes, once, that this node leaves.
type departure struct {
	member *elastic.Member
	log    *zap.Logger
	once   sync.Once
}

func (d *departure) announce(reason string) {
	d.once.Do(func() {
		if err := d.member.Close(reason); err != nil {
			d.log.Debug("leaving the other nodes", zap.Error(err))
		}
	})
}

// announceAtEnd announces the departure some time after the end of ctx, the context of
// the whole job. The function that it returns cancels that. Until this function has
// returned, no other goroutine may use the member.
func (d *departure) announceAtEnd(ctx context.Context) (cancel func()) {
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
			d.announce(endRequest(context.Cause(ctx)))
		case <-canceled:
		}
	}()
	return func() {
		close(canceled)
		<-over
	}
}

// endRequest describes the request that ended this node.
func endRequest(cause error) string {
	if signaled := new(signals.Received); errors.As(cause, signaled) {
		return "it was asked to end by " + signals.Name(signaled.Signal)
	}
	return "it was asked to end: " + cause.Error()
}
