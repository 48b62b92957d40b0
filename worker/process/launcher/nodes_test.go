package launcher

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"gpurun/rendezvous/elastic"
	"gpurun/rendezvous/porttest"
	"gpurun/worker/process/signals"
)

// onTwoNodes runs a script on two nodes, whose agents meet over loopback.
func onTwoNodes(t *testing.T, restarts int, text string,
	prepare ...func(*Job),
) (results [2]*Result, errs [2]error, shown [2]*screen) {
	t.Helper()
	return onTwoNodesUntil(t, [2]context.Context{t.Context(), t.Context()}, restarts, text, prepare...)
}

// onTwoNodesUntil is onTwoNodes where each node has a context of its own.
func onTwoNodesUntil(t *testing.T, ctxs [2]context.Context, restarts int, text string,
	prepare ...func(*Job),
) (results [2]*Result, errs [2]error, shown [2]*screen) {
	t.Helper()
	endpoint := porttest.Endpoint()
	var jobs [2]Job
	for i := range jobs {
		jobs[i], shown[i] = script(t, 1+i, text)
		for _, p := range prepare {
			p(&jobs[i])
		}
	}
	done := make(chan int)
	for i := range jobs {
		go func() {
			results[i], errs[i] = RunNodes(ctxs[i], jobs[i], elastic.Config{
				Backend: elastic.Static, Endpoint: endpoint, RunID: "job", MinNodes: 2, MaxNodes: 2,
				MaxRestarts: restarts, NodeRank: i, Workers: 1 + i, Role: "default",
			})
			done <- i
		}()
	}
	for range jobs {
		<-done
	}
	return results, errs, shown
}

// A node whose workers have succeeded says that it waits for those of the other nodes.
func TestANodeSaysThatItWaits(t *testing.T) {
	t.Parallel()
	core, logged := observer.New(zap.InfoLevel)
	_, errs, _ := onTwoNodes(t, 0, `test $RANK = 0 || sleep 4`, func(j *Job) { j.Agent.Logger = zap.New(core) })
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	if n := logged.FilterMessageSnippet("waiting for the workers of the other nodes").Len(); n != 1 {
		t.Errorf("%d nodes say that they wait: %v", n, logged.All())
	}
}

func TestAFailureEndsAllNodes(t *testing.T) {
	t.Parallel()
	results, errs, _ := onTwoNodes(t, 0, `test $RANK != 2 || exit 7; sleep 60`)
	elsewhere := new(OtherNodeError)
	if !errors.As(errs[0], &elsewhere) || elsewhere.Code != 7 || !strings.Contains(elsewhere.Error(), "rank 2") {
		t.Errorf("the node without a failure got %+v, %v", results[0], errs[0])
	}
	if errs[1] != nil || results[1].ExitCode() != 7 || len(results[1].Failed) != 1 {
		t.Errorf("the node that failed got %+v, %v", results[1], errs[1])
	}
}

// The store stays until the workers of all nodes have ended, and not only those of the node that serves it.
func TestTheStoreStaysForTheOtherNodes(t *testing.T) {
	t.Parallel()
	results, errs, _ := onTwoNodes(t, 0, `test $RANK = 0 || { sleep 1; bash -c ": </dev/tcp/$MASTER_ADDR/$MASTER_PORT"; }`)
	for i := range results {
		if errs[i] != nil || results[i].ExitCode() != 0 {
			t.Errorf("node %d: %+v, %v", i, results[i], errs[i])
		}
	}
}

// Rank 1 takes all of the grace: the workers of the other node do not wait for it.
func TestOtherNodesHearOfAFailureBeforeAllItsWorkersHaveEnded(t *testing.T) {
	t.Parallel()
	const grace, promise = 3 * time.Second, time.Second
	text := `case $RANK in
		0) sleep 60 ;;
		1) trap "" TERM; touch $DEAF; while :; do sleep 0.05; done ;;
		2) until test -e $DEAF; do sleep 0.02; done; exit 7 ;;
	esac`
	deaf := filepath.Join(t.TempDir(), "deaf")
	results, errs, _ := onTwoNodes(t, 0, "DEAF="+deaf+"\n"+text, func(job *Job) { job.Agent.Grace = grace })
	elsewhere := new(OtherNodeError)
	if !errors.As(errs[0], &elsewhere) || elsewhere.Code != 7 || !strings.Contains(elsewhere.Error(), "rank 2") {
		t.Fatalf("the node without a failure got %+v, %v", results[0], errs[0])
	}
	if errs[1] != nil || results[1].ExitCode() != 7 {
		t.Fatalf("the node that failed got %+v, %v", results[1], errs[1])
	}
	failed := results[1].First.Time
	if after := results[0].Workers[0].Exited.Sub(failed); after > promise {
		t.Errorf("the other node's worker ended %v after the failure", after)
	}
	if after := results[1].Workers[0].Exited.Sub(failed); after < grace {
		t.Errorf("the deaf worker ended after %v, before the grace was over", after)
	}
}

// Where the others end at once, the earliest record is the cause on all nodes.
func TestAnEarlierRecordIsTheCauseOnAllNodes(t *testing.T) {
	t.Parallel()
	text := `case $RANK in
		0) sleep 60 ;;
		1) echo '{"message": "first"}' >$TORCHELASTIC_ERROR_FILE
		   trap 'exit 4' TERM; touch $RECORDED; while :; do sleep 0.02; done ;;
		2) until test -e $RECORDED; do sleep 0.02; done; exit 7 ;;
	esac`
	recorded := filepath.Join(t.TempDir(), "recorded")
	results, errs, _ := onTwoNodes(t, 0, "RECORDED="+recorded+"\n"+text)
	elsewhere := new(OtherNodeError)
	if !errors.As(errs[0], &elsewhere) || elsewhere.Code != 4 || results[1].ExitCode() != 4 {
		t.Errorf("the nodes got %+v, %v and %+v, %v", results[0], errs[0], results[1], errs[1])
	}
}

// Whoever fails by itself first is the cause on all nodes, also where others notice it
// sooner and they hear of it before all workers of its node have ended.
func TestAFailureThatIsToldEarlyIsTheFirst(t *testing.T) {
	t.Parallel()
	const record = `echo '{"message": "first"}' >$TORCHELASTIC_ERROR_FILE; touch $RECORDED; `
	for name, test := range map[string]struct {
		first string // what rank 1 does
		code  int
	}{
		"it ends, and leaves a deaf process": {
			`trap "" TERM; sleep 60 & trap 'exit 4' TERM; ` + record + `while :; do sleep 0.02; done`, 4,
		},
		"it is deaf": {`trap "" TERM; ` + record + `while :; do sleep 0.05; done`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := `case $RANK in
				0) sleep 60 ;;
				1) ` + test.first + ` ;;
				2) until test -e $RECORDED; do sleep 0.02; done; exit 7 ;;
			esac`
			recorded := filepath.Join(t.TempDir(), "recorded")
			results, errs, _ := onTwoNodes(t, 0, "RECORDED="+recorded+"\n"+text,
				func(job *Job) { job.Agent.Grace = 3 * announceAfter })
			elsewhere := new(OtherNodeError)
			if !errors.As(errs[0], &elsewhere) || elsewhere.Code != test.code || !strings.Contains(elsewhere.Error(), "rank 1") {
				t.Errorf("the node without a failure got %+v, %v", results[0], errs[0])
			}
			if errs[1] != nil || results[1].ExitCode() != test.code || results[1].First.Rank != 1 {
				t.Errorf("the node that failed got %+v, %v", results[1], errs[1])
			}
			early := results[0].Workers[0].Exited.Before(results[1].First.Time.Add(2 * announceAfter))
			if !early {
				t.Errorf("the nodes did not hear of it early")
			}
		})
	}
}

// Nodes that hear early of a failure wait for the one where it happened, which does not say it twice.
func TestAFailureThatIsToldEarlyRestartsOnce(t *testing.T) {
	t.Parallel()
	text := `test $TORCHELASTIC_RESTART_COUNT = 0 || exit 0
	case $RANK in
		0) sleep 60 ;;
		1) trap "" TERM; touch $DEAF; while :; do sleep 0.05; done ;;
		2) until test -e $DEAF; do sleep 0.02; done; exit 7 ;;
	esac`
	deaf := filepath.Join(t.TempDir(), "deaf")
	results, errs, _ := onTwoNodes(t, 1, "DEAF="+deaf+"\n"+text, func(job *Job) { job.Agent.Grace = 2 * announceAfter })
	for i, r := range results {
		if errs[i] != nil || r.ExitCode() != 0 || r.Restarts != 1 {
			t.Errorf("node %d got %+v, %v", i, r, errs[i])
		}
	}
}

func TestAFailureRestartsAllNodes(t *testing.T) {
	t.Parallel()
	results, errs, shown := onTwoNodes(t, 1,
		`echo rank $RANK of $WORLD_SIZE, node $GROUP_RANK, attempt $TORCHELASTIC_RESTART_COUNT
		test $TORCHELASTIC_RESTART_COUNT = 0 || exit 0
		test $RANK != 0 || exit 7; sleep 60`)
	for i := range results {
		if errs[i] != nil || results[i].ExitCode() != 0 || results[i].Restarts != 1 {
			t.Fatalf("node %d: %+v, %v", i, results[i], errs[i])
		}
	}
	for i, want := range []string{"rank 0 of 3, node 0, attempt 1", "rank 2 of 3, node 1, attempt 1"} {
		if got := shown[i].text.String(); !strings.Contains(got, want) {
			t.Errorf("node %d said %q, want %q", i, got, want)
		}
	}
}

// Its workers are deaf, all of them before the signal: those of the other node do not wait for the end of the grace.
func TestOtherNodesHearOfASignalBeforeAllItsWorkersHaveEnded(t *testing.T) {
	t.Parallel()
	for asked, name := range []string{"the node that serves", "the other node"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const grace, promise = 3 * time.Second, time.Second
			deaf := filepath.Join(t.TempDir(), "deaf")
			text := "DEAF=" + deaf + "\n" + `test $GROUP_RANK = $ASKED || exec sleep 60
				trap "" TERM; touch $DEAF$LOCAL_RANK
				until test -e ${DEAF}0 -a -e $DEAF$((LOCAL_WORLD_SIZE - 1)); do sleep 0.02; done
				touch $DEAF; while :; do sleep 0.05; done`
			ctxs := [2]context.Context{t.Context(), t.Context()}
			ctx, cancel := context.WithCancelCause(t.Context())
			ctxs[asked] = ctx
			var signaled time.Time
			go func() {
				for _, err := os.Stat(deaf); err != nil; _, err = os.Stat(deaf) {
					time.Sleep(10 * time.Millisecond)
				}
				signaled = time.Now()
				cancel(signals.Received{Signal: 15})
			}()
			results, errs, _ := onTwoNodesUntil(t, ctxs, 0, text, func(job *Job) {
				job.Agent.SignalGrace = grace
				job.Agent.Argv = append([]string{"/usr/bin/env", "ASKED=" + strconv.Itoa(asked)}, job.Agent.Argv...)
			})
			other := 1 - asked
			cause := results[other].Cause
			if errs[other] != nil || cause == nil || !strings.Contains(cause.Error(), "asked to end by SIGTERM") {
				t.Errorf("the other node got %+v, %v, because of %v", results[other], errs[other], cause)
			}
			if errs[asked] != nil || results[asked].ExitCode() != 128+15 {
				t.Fatalf("the node with the signal got %+v, %v", results[asked], errs[asked])
			}
			if after := results[other].Workers[0].Exited.Sub(signaled); after > promise {
				t.Errorf("the other node's worker ended %v after the signal", after)
			}
			if after := results[asked].Workers[0].Exited.Sub(signaled); after < grace {
				t.Errorf("the deaf worker ended after %v, before the grace was over", after)
			}
		})
	}
}

// A node whose machine is at fault leaves for that reason. It announces no failure of a worker, also while another
// worker of it does not end.
func TestAFaultOfTheMachineIsNoFailureOfAWorker(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{
		"its workers end": `sleep 60`, "one is deaf": `trap "" TERM; touch $DEAF; while :; do sleep 0.05; done`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text := `case $RANK in 0) sleep 60 ;; 1) ` + first + ` ;; esac
				test -z "$DEAF" || until test -e $DEAF; do sleep 0.02; done; exit 7`
			if name == "one is deaf" {
				text = "DEAF=" + filepath.Join(t.TempDir(), "deaf") + "\n" + text
			}
			results, errs, _ := onTwoNodes(t, 0, text, func(job *Job) {
				job.Agent.Grace = 2 * announceAfter
				if job.Torch.Workers == 2 {
					job.Fault = func() error { return errors.New("GPU 3 is lost") }
				}
			})
			if !errors.As(errs[1], new(*UnfitError)) || results[1].ExitCode() != 7 {
				t.Errorf("the node whose machine is at fault got %+v, %v", results[1], errs[1])
			}
			r := results[0]
			if r == nil || r.Cause == nil || !strings.Contains(r.Cause.Error(), "not fit for the job: GPU 3 is lost") ||
				errors.As(errs[0], new(*OtherNodeError)) {
				t.Errorf("the other node got %+v, %v", r, errs[0])
			}
		})
	}
}
