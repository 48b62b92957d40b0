package agent

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"

	"gpurun/worker/process/procfs"
	"gpurun/worker/process/report"
	"gpurun/worker/process/signals"
	"gpurun/worker/process/spawn"
)

// idle is a group without processes, to whose loop a test can talk.
func idle(workers int) *group {
	g := &group{spec: &Spec{Grace: time.Minute}, log: zap.NewNop()}
	for rank := range workers {
		// A process group that does not exist: signals to it go nowhere.
		g.workers = append(g.workers, &worker{identity: identity{Rank: rank, PID: 1 << 30}})
	}
	return g
}

func TestAConsequenceWaitsForItsCause(t *testing.T) {
	g := idle(2)
	start := time.Now()
	g.fail(g.workers[0], &report.Failure{Consequence: true}, true, start)
	g.onTime(start.Add(settleTime - time.Nanosecond))
	if g.ending.begun() {
		t.Error("the group was told to end before the settling time")
	}
	if at := g.wakeAt(); at.After(start.Add(settleTime)) {
		t.Error("the loop would sleep longer than the settling time")
	}
	g.onTime(start.Add(settleTime))
	if !g.ending.begun() {
		t.Error("the group was not told to end after the settling time")
	}
}

func TestFirst(t *testing.T) {
	start := time.Now()
	stopAt := start.Add(10 * time.Second)
	own := &report.Failure{Class: report.Internal, Message: "own"}
	follows := &report.Failure{Class: report.Rendezvous, Message: "peer left", Consequence: true}
	type end struct {
		after  int // seconds; 0 for none
		exit   spawn.ExitStatus
		report *report.Failure
	}
	tests := map[string]struct {
		ends  []end
		cause error
		want  int // rank, -1 for none
	}{
		"nobody": {ends: []end{{}, {}}, want: -1},
		"first by time": {
			ends: []end{
				{3, spawn.ExitStatus{Code: 1}, nil}, {2, spawn.ExitStatus{Code: 1}, nil}, {4, spawn.ExitStatus{Code: 1}, nil},
			}, want: 1,
		},
		"consequence earlier": {
			ends: []end{{1, spawn.ExitStatus{Code: 1}, follows}, {2, spawn.ExitStatus{Code: 1}, own}}, want: 1,
		},
		"consequence later": {
			ends: []end{{3, spawn.ExitStatus{Code: 1}, own}, {4, spawn.ExitStatus{Code: 1}, follows}}, want: 0,
		},
		"consequences only": {
			ends: []end{{4, spawn.ExitStatus{Code: 1}, follows}, {3, spawn.ExitStatus{Code: 1}, follows}}, want: 1,
		},
		"ended by the agent": {
			ends: []end{{3, spawn.ExitStatus{Code: 1}, follows}, {11, spawn.ExitStatus{Signal: syscall.SIGTERM}, nil}}, want: 0,
		},
		"exit after being told to end": {
			ends: []end{{3, spawn.ExitStatus{Code: 1}, follows}, {11, spawn.ExitStatus{Code: 1}, nil}}, want: 0,
		},
		"crash noticed late": {
			ends: []end{{3, spawn.ExitStatus{Code: 1}, follows}, {11, spawn.ExitStatus{Signal: syscall.SIGSEGV}, nil}}, want: 1,
		},
		"cause reported late": {
			ends: []end{{3, spawn.ExitStatus{Code: 1}, follows}, {11, spawn.ExitStatus{Code: 1}, own}}, want: 1,
		},
		"after the user's signal": {
			ends:  []end{{11, spawn.ExitStatus{Signal: syscall.SIGSEGV}, nil}, {12, spawn.ExitStatus{Code: 1}, own}},
			cause: signals.Received{Signal: syscall.SIGINT}, want: -1,
		},
		"before the user's signal": {
			ends: []end{{}, {9, spawn.ExitStatus{Code: 1}, nil}}, cause: signals.Received{Signal: syscall.SIGINT}, want: 1,
		},
	}
	for name, test := range tests {
		g := idle(len(test.ends))
		g.ending.begin(stopAt, syscall.SIGTERM, time.Minute, test.cause)
		for rank, e := range test.ends {
			w := g.workers[rank]
			w.exit, w.failure = &e.exit, e.report
			if e.after > 0 {
				w.failedAt = start.Add(time.Duration(e.after) * time.Second)
			}
		}
		got := -1
		if w := g.attribution().first(); w != nil {
			got = w.Rank
		}
		if got != test.want {
			t.Errorf("%s: rank %d, want %d", name, got, test.want)
		}
	}
}

func TestWhatAFailedRunLeavesInAGroupEndsSoon(t *testing.T) {
	t.Parallel()
	spec, _, _ := shell(t, 2, `trap "" TERM; [ $RANK = 0 ] || exit 0; sleep 1000 & exit 3`)
	start := time.Now()
	outcome := mustRun(t, spec)
	if took := time.Since(start); took < leftoverGrace || took > 10*leftoverGrace || outcome.ExitCode() != 3 {
		t.Errorf("took %v, exit code %d", took, outcome.ExitCode())
	}
}

func TestWhatAnInterruptedShellRanHasTheWholeGrace(t *testing.T) {
	t.Parallel()
	const saver = `sh -c 'trap "sleep 2; touch saved; exit" TERM; touch ready; while :; do sleep 0.01; done'`
	for name, interrupted := range map[string]string{
		"dies of the signal": saver + "; true",
		"exits with success": `trap "exit 0" TERM; ` + saver + " & wait",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			spec, _, _ := shell(t, 2, "cd "+dir+`; if [ $RANK = 1 ]; then `+interrupted+
				`; fi; until [ -e ready ]; do sleep 0.01; done; exit 3`)
			outcome := mustRun(t, spec)
			if _, err := os.Stat(filepath.Join(dir, "saved")); err != nil || outcome.ExitCode() != 3 {
				t.Errorf("exit code %d; saved: %v", outcome.ExitCode(), err)
			}
		})
	}
}

func TestWhatASuccessfulRunLeavesInAGroupIsKilled(t *testing.T) {
	t.Parallel()
	spec, _, _ := shell(t, 1, `sleep 1000 > /dev/null 2>&1 &`)
	group := mustRun(t, spec).Workers[0].PID
	for start := time.Now(); procfs.GroupsAlive([]int{group}); time.Sleep(time.Millisecond) {
		if time.Since(start) > timeout {
			t.Fatalf("process group %d lives", group)
		}
	}
}
