package rank

import (
	"context"
	"fmt"
	"time"

	"gpurun/cudart"
	"gpurun/worker/hang"
	"gpurun/worker/library"
	"gpurun/worker/peers"
)

const (
	// inspectionTime bounds how long a device takes to say where its kernels are.
	inspectionTime = time.Second
	// reportsTime is how long a rank that hangs waits for the other ranks to say whether they hang. It is less than what
	// ranks that do not hang wait for this one beyond the job's timeout.
	reportsTime = 1300 * time.Millisecond
	// hangTopic is under which the ranks tell each other.
	hangTopic = "kernels that hang"
)

// supervision watches work that may never end, while Finish waits for it.
type supervision struct {
	*Rank
	work   Work
	waited time.Duration // since the work was seen to proceed, or began
	looked time.Time     // when that was counted
	seen   string        // what progress showed last
}

// mostBetween is the time that counts at most between two checks: more has passed where this process was stopped, as by
// SIGSTOP.
const mostBetween = pollInterval + inspectionTime + 2*time.Second

// count counts the time until now.
func (s *supervision) count(now time.Time) {
	s.waited += min(now.Sub(s.looked), mostBetween)
	s.looked = now
}

// proceeded says that the work has been seen to proceed.
func (s *supervision) proceeded(now time.Time) { s.waited, s.looked = 0, now }

// pollInterval is how long to wait until the next check.
func (s *supervision) pollInterval() time.Duration {
	if s.work.Unbounded == "" {
		return pollInterval
	}
	left := s.options.Job.Timeout - s.waited
	return min(pollInterval, max(left, time.Millisecond))
}

// check fails when the work has made no progress for too long.
func (s *supervision) check(ctx context.Context) error {
	s.count(time.Now())
	switch {
	case s.work.Unbounded != "":
		return s.checkKernels(ctx)
	case s.Libraries.Get(s.work.Library) != nil && s.waited > s.Peers.Limit():
		return &library.StuckError{What: s.Status.Activity(), After: s.Peers.Limit()}
	}
	return nil
}

// checkKernels is check for kernels without bounds of their own. A rank that has waited for less than the timeout fails
// too when another rank hangs: it may be the one that this other rank waits for.
func (s *supervision) checkKernels(ctx context.Context) error {
	kernels, known := s.inspect(ctx)
	if now := progressOf(kernels); now != s.seen {
		if s.seen != "" {
			s.proceeded(time.Now())
		}
		s.seen = now
	}
	limit := s.options.Job.Timeout
	if s.waited < limit {
		if !s.Peers.Posted(ctx, hangTopic) {
			return nil
		}
		limit = s.waited.Round(time.Second)
	}
	return s.hang(ctx, hang.NewReport(s.work.Unbounded, limit, kernels, known))
}

// progressOf changes when a kernel begins, or a block ends.
func progressOf(kernels []cudart.RunningKernel) (text string) {
	for _, k := range kernels {
		ended := k.Blocks - k.Pending
		for i, w := range k.Warps {
			if i == 0 || w.Block != k.Warps[i-1].Block {
				ended--
			}
		}
		text += fmt.Sprintln(k.Name, k.Number, ended)
	}
	return text
}

// inspect asks the device which kernels run; known says whether it tells.
func (r *Rank) inspect(ctx context.Context) (kernels []cudart.RunningKernel, known bool) {
	d, ok := r.Device.(cudart.Inspector)
	if !ok {
		return nil, false
	}
	ctx, cancel := context.WithTimeout(ctx, inspectionTime)
	defer cancel()
	kernels, err := d.Inspect(ctx)
	return kernels, err == nil
}

// hang ends the process, because kernels that hang would keep its memory from being freed. The error names all ranks
// that hang. It is returned where the process is to go on.
func (r *Rank) hang(ctx context.Context, mine hang.Report) error {
	all := peers.Posts(ctx, r.Peers, hangTopic, mine, reportsTime)
	all[r.ID] = &mine
	err := &hang.Error{Reports: all}
	if r.options.Abort != nil {
		r.options.Abort(err)
	}
	return err
}

// abortAfter ends the process if a call has not returned after so long. A launch does not return while the
// stream is full of calls that do not end.
func (r *Rank) abortAfter(limit time.Duration, work Work) (stop func() bool) {
	return time.AfterFunc(limit, func() {
		_ = r.hang(context.Background(), hang.Report{
			What: work.Unbounded, After: limit, Where: "its launch does not return: earlier calls have not ended",
		})
	}).Stop
}
