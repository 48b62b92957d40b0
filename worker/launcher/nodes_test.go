package launcher

import (
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gpurun/rendezvous/elastic"
)

// onTwoNodes runs a script on two nodes, whose agents meet over loopback.
func onTwoNodes(t *testing.T, restarts int, text string, prepare ...func(*Job)) (results [2]*Result, errs [2]error, shown [2]*screen) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	endpoint := l.Addr().String()
	l.Close()
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
			results[i], errs[i] = RunNodes(t.Context(), jobs[i], elastic.Config{
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

func TestAFailureEndsAllNodes(t *testing.T) {
	t.Parallel()
	results, errs, _ := onTwoNodes(t, 0, `test $RANK != 2 || exit 7; sleep 60`)
	elsewhere := new(ElsewhereError)
	if !errors.As(errs[0], &elsewhere) || elsewhere.Code != 7 || !strings.Contains(elsewhere.Error(), "rank 2") {
		t.Errorf("the node without a failure got %+v, %v", results[0], errs[0])
	}
	if errs[1] != nil || results[1].ExitCode() != 7 || len(results[1].Failed) != 1 {
		t.Errorf("the node that failed got %+v, %v", results[1], errs[1])
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
	elsewhere := new(ElsewhereError)
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
		1) echo '{"message": "first"}' >$TORCHELASTIC_ERROR_FILE; trap 'exit 4' TERM; touch $RECORDED; while :; do sleep 0.02; done ;;
		2) until test -e $RECORDED; do sleep 0.02; done; exit 7 ;;
	esac`
	recorded := filepath.Join(t.TempDir(), "recorded")
	results, errs, _ := onTwoNodes(t, 0, "RECORDED="+recorded+"\n"+text)
	elsewhere := new(ElsewhereError)
	if !errors.As(errs[0], &elsewhere) || elsewhere.Code != 4 || results[1].ExitCode() != 4 {
		t.Errorf("the nodes got %+v, %v and %+v, %v", results[0], errs[0], results[1], errs[1])
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
	results, errs, shown := onTwoNodes(t, 1, `echo rank $RANK of $WORLD_SIZE, node $GROUP_RANK, attempt $TORCHELASTIC_RESTART_COUNT
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
