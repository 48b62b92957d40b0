package launcher

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	"go.uber.org/zap"

	"gpurun/worker/process/agent"
	"gpurun/worker/process/errorfile"
	"gpurun/worker/process/processtest"
	"gpurun/worker/process/signals"
	"gpurun/worker/process/torchenv"
)

func TestMain(m *testing.M) {
	processtest.ManyAtOnce()
	goleak.VerifyTestMain(m)
}

// screen is an output of several workers.
type screen struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

// sorted returns the lines in order, whoever was faster.
func (s *screen) sorted() []string {
	lines := strings.Split(strings.TrimSuffix(s.text.String(), "\n"), "\n")
	slices.Sort(lines)
	return lines
}

// script is a job whose workers run a shell script.
func script(t *testing.T, workers int, text string) (Job, *screen) {
	t.Helper()
	var shown screen
	return Job{
		Agent: agent.Spec{Argv: []string{"/bin/sh", "-c", text}, Stdout: &shown, Stderr: &shown},
		Torch: torchenv.Job{
			Workers: workers, WorldSize: workers, GroupSize: 1, Role: "default", RunID: "job", MasterAddr: "127.0.0.1",
		},
		Logs: Logs{Dir: filepath.Join(t.TempDir(), "logs")},
	}, &shown
}

func mustRun(t *testing.T, job Job) *Result {
	t.Helper()
	result, err := Run(t.Context(), job)
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// listed returns the files below a job's folder, without the random part of its name.
func listed(t *testing.T, dir string) []string {
	t.Helper()
	roots, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil || len(roots) != 1 {
		t.Fatalf("folders %v, %v", roots, err)
	}
	files, err := filepath.Glob(filepath.Join(roots[0], "*", "*"))
	deeper, err2 := filepath.Glob(filepath.Join(roots[0], "*", "*", "*"))
	if err := errors.Join(err, err2); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range append(files, deeper...) {
		names = append(names, strings.TrimPrefix(file, roots[0]+"/"))
	}
	slices.Sort(names)
	return names
}

func TestRestarts(t *testing.T) {
	tests := map[string]struct {
		allowed, fails int
		restarts, code int
	}{
		"none needed":  {allowed: 2},
		"none allowed": {fails: 1, code: 3},
		"one":          {allowed: 2, fails: 1, restarts: 1},
		"the last":     {allowed: 2, fails: 2, restarts: 2},
		"too few":      {allowed: 1, fails: 2, restarts: 1, code: 3},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			job, shown := script(t, 2, fmt.Sprintf(`echo $TORCHELASTIC_RESTART_COUNT of $TORCHELASTIC_MAX_RESTARTS
				[ $TORCHELASTIC_RESTART_COUNT -ge %d ] || exit 3`, test.fails))
			job.Torch.MaxRestarts = test.allowed
			result := mustRun(t, job)
			if result.Restarts != test.restarts || result.ExitCode() != test.code ||
				(test.code == 0) != (len(result.Failed) == 0) {
				t.Errorf("%d restarts, exit code %d, failed %v", result.Restarts, result.ExitCode(), result.Failed)
			}
			for attempt := range test.restarts + 1 {
				if want := fmt.Sprintf("%d of %d", attempt, test.allowed); !slices.Contains(shown.sorted(), want) {
					t.Errorf("no %q in %q", want, shown.sorted())
				}
			}
		})
	}
}

func TestEveryAttemptHasItsFoldersAndItsPort(t *testing.T) {
	t.Parallel()
	job, shown := script(t, 2, `echo $MASTER_PORT; echo {} >$TORCHELASTIC_ERROR_FILE
		exit $((1 - TORCHELASTIC_RESTART_COUNT))`)
	job.Torch.MaxRestarts = 1
	mustRun(t, job)
	want := []string{
		"attempt_0/0", "attempt_0/0/error.json", "attempt_0/1", "attempt_0/1/error.json",
		"attempt_1/0", "attempt_1/0/error.json", "attempt_1/1", "attempt_1/1/error.json",
	}
	// A worker of the first attempt may have been ended before it wrote.
	got := listed(t, job.Logs.Dir)
	if missing := len(want) - len(got); missing > 1 || !slices.Contains(got, "attempt_1/0/error.json") ||
		!slices.Contains(got, "attempt_1/1/error.json") {
		t.Error(cmp.Diff(want, got))
	}
	for _, port := range shown.sorted() {
		if n, err := strconv.Atoi(port); err != nil || n == 0 {
			t.Errorf("port %q", port)
		}
	}
}

func TestASignalIsNoReasonToStartAgain(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(signals.Received{Signal: 15})
	job, _ := script(t, 1, "exit 3")
	job.Torch.MaxRestarts = 5
	result, err := Run(ctx, job)
	if err != nil || result.Restarts != 0 || result.ExitCode() != 143 {
		t.Errorf("got %+v, %v", result, err)
	}
}

// watcher is an output that calls seen when something is written.
type watcher struct{ seen func() }

func (w watcher) Write(p []byte) (int, error) {
	w.seen()
	return len(p), nil
}

func TestASignalWhileAFailureIsDealtWithEndsTheJob(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancelCause(t.Context())
	ready := filepath.Join(t.TempDir(), "ready")
	job, _ := script(t, 2, fmt.Sprintf(`case $RANK in
	0) trap 'echo told' TERM; touch %[1]s; while :; do sleep 0.02; done ;;
	1) until test -e %[1]s; do sleep 0.02; done; exit 3 ;;
	esac`, ready))
	job.Agent.Stdout = watcher{func() { cancel(signals.Received{Signal: 15}) }}
	job.Agent.Grace = 500 * time.Millisecond
	job.Torch.MaxRestarts = 5
	result, err := Run(ctx, job)
	if err != nil || ctx.Err() == nil || result.Restarts != 0 || result.ExitCode() != 3 {
		t.Errorf("got %+v, %v", result, err)
	}
}

func TestTheStoreIsServedUntilItIsClosed(t *testing.T) {
	place, err := serveStore(t.Context(), "127.0.0.1", 0, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(place.port))
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatalf("workers cannot reach the store: %v", err)
	}
	c.Close()
	if _, err := serveStore(t.Context(), "127.0.0.1", place.port, zap.NewNop()); err == nil ||
		!strings.Contains(err.Error(), "another --master-port") {
		t.Errorf("a port that is taken: %v", err)
	}
	if err := place.close(); err != nil {
		t.Fatal(err)
	}
	if c, err := net.Dial("tcp", address); err == nil {
		c.Close()
		t.Error("the store is still there")
	}
	if _, err := serveStore(t.Context(), "192.0.2.1", 0, zap.NewNop()); err == nil ||
		!strings.Contains(err.Error(), "address of this machine") {
		t.Errorf("an address of another machine: %v", err)
	}
}

// Every attempt has a store of its own, which the workers are told of.
func TestWorkersAreToldOfTheStore(t *testing.T) {
	t.Parallel()
	job, out := script(t, 1, `echo "store $TORCHELASTIC_USE_AGENT_STORE at $MASTER_PORT"; exit 3`)
	job.Torch.MaxRestarts = 1
	if _, err := Run(t.Context(), job); err != nil {
		t.Fatal(err)
	}
	ports := regexp.MustCompile(`store True at ([0-9]+)`).FindAllStringSubmatch(out.text.String(), -1)
	if len(ports) != 2 || ports[0][1] == "0" {
		t.Errorf("the workers said %q", out.text.String())
	}
}

func TestRecords(t *testing.T) {
	t.Parallel()
	job, _ := script(t, 1, `printf %s "$TEXT" >$TORCHELASTIC_ERROR_FILE; exit 3`)
	for text, want := range map[string]string{`{"message": "bad loss"}`: "bad loss", "Traceback": "invalid character"} {
		job.Agent.Argv = []string{"/usr/bin/env", "TEXT=" + text, "/bin/sh", "-c", job.Agent.Argv[len(job.Agent.Argv)-1]}
		result := mustRun(t, job)
		if len(result.Failed) != 1 || result.Failed[0].Record == nil ||
			!strings.Contains(result.Failed[0].Record.Message, want) {
			t.Errorf("%s: failed %+v", text, result.Failed)
		}
	}
}

func TestTheCauseIsPassedOn(t *testing.T) {
	mine := filepath.Join(t.TempDir(), "mine.json")
	t.Setenv(errorfile.Variable, mine)
	for text, want := range map[string]string{
		`exit 7`:     `exited with code 7","errorCode":7`,
		`kill -9 $$`: `was killed by SIGKILL","errorCode":-9`,
		`echo '{"message": {"message": "m"}}' >$TORCHELASTIC_ERROR_FILE; exit 2`: `{"message":{"errorCode":2,"message":"m"}}`,
	} {
		job, _ := script(t, 1, text)
		mustRun(t, job)
		data, err := os.ReadFile(mine)
		if err != nil || !strings.Contains(string(data), want) {
			t.Errorf("%s: %s, %v", text, data, err)
		}
	}
	if err := os.Remove(mine); err != nil {
		t.Fatal(err)
	}
	job, _ := script(t, 1, "true")
	mustRun(t, job)
	if _, err := os.Stat(mine); err == nil {
		t.Error("a success was passed on as a failure")
	}
}

func TestLogs(t *testing.T) {
	t.Parallel()
	job, shown := script(t, 3, `echo out $RANK; echo err $RANK >&2`)
	job.Torch.FirstRank = 8
	job.Logs.Redirects = func(localRank int) (bool, bool) { return localRank == 0, localRank == 0 }
	job.Logs.Tee = func(localRank int) (bool, bool) { return localRank < 2, false }
	job.Logs.Shown = func(localRank int) bool { return localRank != 2 }
	job.Logs.StderrFilters = []string{"9", "10"}
	job.Logs.Prefix = "${role_name}/${local_rank}/${rank} ${what}:"
	mustRun(t, job)
	if diff := cmp.Diff([]string{"default/0/8 ${what}:out 8", "default/1/9 ${what}:err 9", "default/1/9 ${what}:out 9"},
		shown.sorted()); diff != "" {
		t.Error(diff)
	}
	want := []string{
		"attempt_0/0", "attempt_0/0/stderr.log", "attempt_0/0/stdout.log", "attempt_0/1", "attempt_0/1/stdout.log",
		"attempt_0/2", "attempt_0/filtered_stderr.log",
	}
	if diff := cmp.Diff(want, listed(t, job.Logs.Dir)); diff != "" {
		t.Error(diff)
	}
	copies, err := filepath.Glob(filepath.Join(job.Logs.Dir, "*", "attempt_0", "filtered_stderr.log"))
	if err != nil || len(copies) != 1 {
		t.Fatal(copies, err)
	}
	data, err := os.ReadFile(copies[0])
	lines := strings.Split(strings.TrimSpace(string(data)), "\n")
	slices.Sort(lines)
	if diff := cmp.Diff([]string{"default/1/9 ${what}:err 9", "default/2/10 ${what}:err 10"}, lines); diff != "" ||
		err != nil {
		t.Error(diff, err)
	}
}

func TestTemporaryFolders(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	job, _ := script(t, 1, "exit 3")
	job.Logs = Logs{Scratch: t.TempDir()}
	mustRun(t, job)
	if _, err := os.Stat(job.Logs.Scratch); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the scratch folder is left: %v", err)
	}
	job.Logs = Logs{}
	mustRun(t, job)
	if left, err := os.ReadDir(os.TempDir()); err != nil || len(left) != 1 {
		t.Errorf("left %v, %v", left, err)
	}
}

func TestRunRefuses(t *testing.T) {
	job, _ := script(t, 3, "true")
	job.Torch.VirtualLocalRank = true
	t.Setenv("CUDA_VISIBLE_DEVICES", "4,5")
	if result, err := Run(t.Context(), job); err == nil || result != nil ||
		!strings.Contains(err.Error(), "CUDA_VISIBLE_DEVICES=4,5 is 2") {
		t.Errorf("got %v, %v", result, err)
	}
	job, _ = script(t, 1, "true")
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	job.Logs.Dir = filepath.Join(file, "logs")
	if result, err := Run(t.Context(), job); err == nil || result != nil ||
		!strings.Contains(err.Error(), "making the folder for logs") {
		t.Errorf("got %v, %v", result, err)
	}
}
