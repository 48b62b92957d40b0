// Package trainjob tells Kubeflow Trainer how a TrainJob is doing: how many ranks run, what failed or hangs, and the
// progress that the workers report. The variables are those that the controller sets if its feature gate TrainJobStatus
// is on; without them there is no [Reporter].
//
// Each report replaces the one before, whoever sent it. So workers report to gpurun, at a port of this machine; gpurun
// adds what it knows, and passes the report on. Without that, each side would erase what the other has said.
package trainjob

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"go.uber.org/zap"

	"gpurun/rendezvous/elastic"
	"gpurun/worker/process/agent"
	"gpurun/worker/process/report"
	"gpurun/worker/process/signals"
	"gpurun/worker/process/torchenv"
)

// The variables: the URL, and files with the certificate of its authority and with a token, which is replaced now and
// then.
const (
	URLVariable   = "KUBEFLOW_TRAINER_SERVER_URL"
	CAVariable    = "KUBEFLOW_TRAINER_SERVER_CA_CERT"
	TokenVariable = "KUBEFLOW_TRAINER_SERVER_TOKEN"
)

// postTimeout bounds a report; Close waits for the last one no longer.
const postTimeout = 5 * time.Second

// Reporter reports to the controller. A report that cannot be delivered is said in the log once, and has no other
// effect.
type Reporter struct {
	upstream upstream
	relay    *http.Server
	path     string // of the relay: secret from other users of the machine
	address  string
	log      *zap.Logger
	complain sync.Once

	posting sync.Mutex // reports reach the controller in the order of what they say

	mu     sync.Mutex
	status status // the last of the workers
	job    *state // what gpurun knows; nil: another node reports

	changed chan struct{} // there is something to report
	over    chan struct{} // closed when the last report is on its way
	posted  sync.WaitGroup
}

// state is what gpurun knows of the job.
type state struct {
	word                   string // running, failed, hung, ended or succeeded
	ranks, nodes, restarts int
	failure                string // in a sentence; may be empty
}

// New starts to report. The Reporter is nil, and all its methods do nothing, without the variables, or if a file that
// they name cannot be read, which is logged.
func New(log *zap.Logger) *Reporter {
	url := os.Getenv(URLVariable)
	if url == "" {
		return nil
	}
	to, err := newUpstream(url, os.Getenv(CAVariable), os.Getenv(TokenVariable))
	if err != nil {
		log.Warn("Kubeflow Trainer is not told of the job's progress: " + err.Error())
		return nil
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Warn("Kubeflow Trainer is told of the job's progress by its workers alone: " + err.Error())
		return nil
	}
	r := &Reporter{
		upstream: to, path: "/" + rand.Text(), address: l.Addr().String(), log: log,
		changed: make(chan struct{}, 1), over: make(chan struct{}),
	}
	r.relay = &http.Server{Handler: r.handler(), ReadTimeout: postTimeout, ErrorLog: zap.NewStdLog(zap.NewNop())}
	r.posted.Go(func() { _ = r.relay.Serve(l) }) // ends by Close
	r.posted.Go(r.post)
	return r
}

// Begin says that an attempt begins, and returns variables for its workers. Only the node with the first ranks reports
// for the job.
func (r *Reporter) Begin(job torchenv.Job) []string {
	if r == nil {
		return nil
	}
	var now *state
	if job.GroupRank == 0 && job.FirstRank == 0 {
		now = &state{word: "running", ranks: job.WorldSize, nodes: job.GroupSize, restarts: job.RestartCount}
	}
	r.mu.Lock()
	r.job = now
	r.mu.Unlock()
	r.notify()
	return []string{URLVariable + "=http://" + r.address + r.path}
}

// Failed says that a worker's failure ends the attempt. Another failure may turn out to be earlier.
func (r *Reporter) Failed(f *agent.Failure) {
	word := "failed"
	if f.Report != nil && f.Report.Class == report.Timeout {
		word = "hung"
	}
	r.set(word, f.Error())
}

// End says how the attempt has ended.
func (r *Reporter) End(o *agent.Outcome) {
	restart := new(elastic.Restart)
	switch {
	case o == nil:
		r.set("failed", "the workers could not be started")
	case o.First != nil:
		r.Failed(o.First)
	case o.Signal != 0:
		r.set("ended", "ended by "+signals.Name(o.Signal))
	case errors.As(o.Cause, &restart): // for the failure of another node, or a new one
		r.set("failed", restart.Reason)
	case o.Cause != nil:
		r.set("failed", o.Cause.Error())
	default:
		r.set("succeeded", "")
	}
}

// set changes the state of the attempt, of which no rank runs any more, or soon none will.
func (r *Reporter) set(word, failure string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	if r.job != nil {
		now := *r.job
		now.word, now.failure, now.ranks = word, failure, 0
		r.job = &now
	}
	r.mu.Unlock()
	r.notify()
}

// notify wakes the goroutine that posts, which takes the newest state.
func (r *Reporter) notify() {
	select {
	case r.changed <- struct{}{}:
	default:
	}
}

// post posts each change until Close, and then the last.
func (r *Reporter) post() {
	for over := false; !over; {
		select {
		case <-r.changed:
		case <-r.over:
			over = true
			if len(r.changed) == 0 {
				return
			}
		}
		r.postOwn()
	}
}

// postOwn posts what gpurun knows, if this node reports.
func (r *Reporter) postOwn() {
	r.posting.Lock()
	defer r.posting.Unlock()
	message, ours := r.merged()
	if !ours {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), postTimeout)
	defer cancel()
	_, err := r.upstream.post(ctx, message)
	r.failed(err)
}

// failed says once that a report was not delivered.
func (r *Reporter) failed(err error) {
	if err != nil {
		r.complain.Do(func() {
			r.log.Warn(fmt.Sprintf("Kubeflow Trainer is not told of the job's progress; the job goes on: %v", err))
		})
	}
}

// Close sends the last report, within postTimeout.
func (r *Reporter) Close() {
	if r == nil {
		return
	}
	close(r.over)
	_ = r.relay.Close()
	r.posted.Wait()
}
