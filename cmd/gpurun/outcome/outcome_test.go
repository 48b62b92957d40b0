package outcome

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/worker/process/agent"
	"gpurun/worker/process/guard"
)

// workers are so many, some of which have ended because another failed.
func workers(count int, ended ...int) (all []agent.WorkerState) {
	for rank := range count {
		all = append(all, agent.WorkerState{Rank: rank, Followed: slices.Contains(ended, rank)})
	}
	return all
}

func TestExplainOutcome(t *testing.T) {
	killed := &agent.Failure{
		Rank: 2, PID: 4711, Signal: syscall.SIGKILL, Phase: "timing allreduce", LastStderr: []string{"one", "two"},
	}
	for name, c := range map[string]struct {
		outcome agent.Outcome
		want    string
	}{
		"success": {agent.Outcome{Workers: make([]agent.WorkerState, 4)}, ""},
		"failure": {
			agent.Outcome{First: killed, Workers: workers(4, 0, 1, 3)},
			"gpurun: rank 2 (pid 4711) was killed by SIGKILL while timing allreduce\n" +
				"  its last lines of stderr:\n    one\n    two\n" +
				"  the other 3 ranks were ended because of it\n",
		},
		"pair": {
			agent.Outcome{First: &agent.Failure{PID: 1, ExitCode: 7}, Workers: workers(2, 1)},
			"gpurun: rank 0 (pid 1) exited with code 7\n  the other rank was ended because of it\n",
		},
		"some had ended": {
			agent.Outcome{First: killed, Workers: workers(4, 1, 3)},
			"gpurun: rank 2 (pid 4711) was killed by SIGKILL while timing allreduce\n" +
				"  its last lines of stderr:\n    one\n    two\n" +
				"  2 other ranks were ended because of it\n",
		},
		"all had ended": {
			agent.Outcome{First: &agent.Failure{PID: 1, ExitCode: 7}, Workers: workers(3)},
			"gpurun: rank 0 (pid 1) exited with code 7\n",
		},
		"alone": {
			agent.Outcome{First: &agent.Failure{PID: 1, ExitCode: 7}, Workers: make([]agent.WorkerState, 1)},
			"gpurun: rank 0 (pid 1) exited with code 7\n",
		},
		"signal": {agent.Outcome{Signal: syscall.SIGINT}, "gpurun: ended by SIGINT\n"},
		"stuck": {
			agent.Outcome{Cause: guard.ErrGone, Workers: []agent.WorkerState{{Rank: 1, PID: 9, Stuck: true}}},
			"gpurun: ended early: the guard process is gone: gpurun was killed\n" +
				"  rank 1 (pid 9) did not end after SIGKILL, and still exists\n",
		},
	} {
		t.Run(name, func(t *testing.T) {
			var got strings.Builder
			ExplainWorkers(&got, &c.outcome)
			if diff := cmp.Diff(c.want, got.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
