package launcher

import (
	"time"

	"go.uber.org/zap"

	"gpurun/rendezvous/elastic"
	"gpurun/worker/agent"
)

// announceAfter is how long the other nodes do not hear of a failure, while the node
// where it happened ends its other workers. These may have recorded an earlier one,
// but may also take all of the grace, and the others' workers wait for them in vain.
const announceAfter = 500 * time.Millisecond

// announcer tells the other nodes of a failure before all workers of this one have
// ended, if they take their time.
type announcer struct {
	round *elastic.Round
	log   *zap.Logger
	timer *time.Timer // nil: nothing has failed
}

// begin is called when a worker has failed. It does not wait.
func (a *announcer) begin(f *agent.Failure) {
	a.timer = time.AfterFunc(announceAfter, func() {
		if err := a.round.Announce(failureOf(f)); err != nil {
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
