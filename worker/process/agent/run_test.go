package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpurun/worker/process/report"
	"gpurun/worker/process/signals"
)

// timeout bounds every wait of a test.
const timeout = 20 * time.Second

// recordedOutput is an output that a test can watch while it is written.
type recordedOutput struct {
	mu   sync.Mutex
	text bytes.Buffer
	grew chan struct{} // closed and replaced at every write
}

func newRecordedOutput() *recordedOutput { return &recordedOutput{grew: make(chan struct{})} }

func (s *recordedOutput) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text.Write(p)
	close(s.grew)
	s.grew = make(chan struct{})
	return len(p), nil
}

func (s *recordedOutput) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// await returns when text has appeared n times.
func (s *recordedOutput) await(t *testing.T, text string, n int) {
	t.Helper()
	expired := time.After(timeout)
	for {
		s.mu.Lock()
		shown, grew := s.text.String(), s.grew
		s.mu.Unlock()
		if strings.Count(shown, text) >= n {
			return
		}
		select {
		case <-grew:
		case <-expired:
			t.Errorf("%q did not appear %d times in %q", text, n, shown)
			return
		}
	}
}

// scripted is a Spec for scripted workers, with its outputs.
func scripted(t *testing.T, workers int, words ...string) (spec Spec, stdout, stderr *recordedOutput) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	stdout, stderr = newRecordedOutput(), newRecordedOutput()
	return Spec{
		Argv:    append([]string{self}, words...),
		Workers: workers,
		Env: func(localRank int) []string {
			return []string{roleVariable + "=worker", "RANK=" + strconv.Itoa(localRank)}
		},
		Grace:  timeout,
		Stdout: stdout,
		Stderr: stderr,
	}, stdout, stderr
}

// inbox collects what workers report.
type inbox struct {
	mu   sync.Mutex
	text []string // "RANK KIND PHASE-OR-RESULT"
}

func (i *inbox) add(rank int, m report.Message) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.text = append(i.text, strings.TrimSpace(fmt.Sprintf("%d %s %s%s", rank, m.Kind, m.Phase, m.Result)))
}

// of returns what one rank reported.
func (i *inbox) of(rank int) []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	var own []string
	for _, text := range i.text {
		if rest, ok := strings.CutPrefix(text, strconv.Itoa(rank)+" "); ok {
			own = append(own, rest)
		}
	}
	return own
}

func mustRun(t *testing.T, spec Spec) *Outcome {
	t.Helper()
	outcome, err := Run(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return outcome
}

func TestOutcomes(t *testing.T) {
	tests := map[string]struct {
		words   []string
		code    int
		failure string // with "PID" for the process ID
		stderr  []string
	}{
		"all succeed": {words: []string{"print:hello\n"}},
		"exit code": {
			[]string{"2=complain:out of\nluck", "2=exit:7", "block"},
			7, "rank 2 (pid PID) exited with code 7",
			[]string{"out of", "luck"},
		},
		"killed":    {[]string{"1=kill:9", "block"}, 137, "rank 1 (pid PID) was killed by SIGKILL", nil},
		"aborted":   {[]string{"0=kill:6", "block"}, 134, "rank 0 (pid PID) was killed by SIGABRT", nil},
		"real-time": {[]string{"0=kill:35", "block"}, 163, "rank 0 (pid PID) was killed by signal 35", nil},
		"phase": {
			[]string{"phase:verifying", "1=exit:3", "block"}, 3, "rank 1 (pid PID) exited with code 3 while verifying", nil,
		},
		"own words": {
			[]string{"phase:verifying", `1=fail:{"class":"wrong-data","message":"3 wrong"}`, "1=exit:1", "block"},
			1,
			"rank 1 (pid PID) failed while verifying: 3 wrong", nil,
		},
		"own phase": {
			[]string{
				"phase:verifying", "2=phase:dawdling", `1=await`,
				`1=fail:{"class":"timeout","phase":"waiting","message":"late","peer":2}`, "1=exit:4", "block",
			}, 4, "rank 2 did not arrive in time, last seen dawdling: rank 1 (pid PID) failed while waiting: late", nil,
		},
		"exit in peace": {
			[]string{`1=fail:{"class":"internal","message":"sorry"}`, "1=linger", "1=exit:42", "block"},
			42,
			"rank 1 (pid PID) failed: sorry", nil,
		},
		"fail, exit 0": {
			[]string{`1=fail:{"class":"internal","message":"sorry"}`, "1=exit:0", "block"},
			1, "rank 1 (pid PID) failed: sorry",
			nil,
		},
		"unread garbage": {
			[]string{"1=garbage:Segmentation fault", "block"},
			143,
			`rank 1 (pid PID) failed: rank 1 sent a report that cannot be read: ` +
				`invalid character 'S' looking for beginning of value: "Segmentation fault\n"`, nil,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec, _, _ := scripted(t, 4, test.words...)
			open := gate(t, &spec)
			defer open()
			spec.Reports = func(_ int, m report.Message) {
				if m.Phase == "dawdling" {
					open()
				}
			}
			outcome := mustRun(t, spec)
			if outcome.ExitCode() != test.code || len(outcome.Workers) != 4 {
				t.Errorf("exit code %d of %+v, want %d", outcome.ExitCode(), outcome, test.code)
			}
			if test.failure == "" {
				if outcome.First != nil {
					t.Error(outcome.First)
				}
				return
			}
			if outcome.First == nil {
				t.Fatal("no failure")
			}
			want := strings.ReplaceAll(test.failure, "PID", strconv.Itoa(outcome.First.PID))
			if diff := cmp.Diff(want, outcome.First.Error()); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.stderr, outcome.First.LastStderr); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// gate makes descriptor 3 of every worker a pipe that ends when the returned
// function is called for the first time.
func gate(t *testing.T, spec *Spec) (open func()) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { read.Close() })
	spec.ExtraFiles = func(int) ([]*os.File, error) {
		fd, err := syscall.Dup(int(read.Fd()))
		if err != nil {
			return nil, err
		}
		syscall.CloseOnExec(fd)
		return []*os.File{os.NewFile(uintptr(fd), "gate")}, nil
	}
	return sync.OnceFunc(func() { write.Close() })
}

func TestACauseIsNamedBeforeItsConsequence(t *testing.T) {
	t.Parallel()
	spec, _, _ := scripted(t, 3,
		"2=ignore", "phase:ready", "0=await",
		`0=fail:{"class":"rendezvous","message":"rank 2 left","peer":2,"consequence":true}`, "0=exit:6",
		"2=await", "2=kill:11", "block")
	open := gate(t, &spec)
	defer open()
	var ready atomic.Int32
	spec.Reports = func(_ int, m report.Message) {
		if m.Kind == report.KindPhase && ready.Add(1) == 3 {
			open()
		}
	}
	var told []string
	spec.Failed = func(f *Failure) { told = append(told, f.Error()) }
	outcome := mustRun(t, spec)
	if outcome.First == nil || outcome.First.Rank != 2 || outcome.ExitCode() != 128+11 {
		t.Errorf("named %v", outcome.First)
	}
	if len(told) != 1 || told[0] != outcome.First.Error() {
		t.Errorf("told %q of %v", told, outcome.First)
	}
}

func TestAConsequenceIsNamedWhenThereIsNothingElse(t *testing.T) {
	t.Parallel()
	spec, _, _ := scripted(t, 2, `1=fail:{"class":"rendezvous","message":"node 1 left","consequence":true}`, "1=exit:6",
		"block")
	spec.Reports = new(inbox).add
	spec.Failed = func(f *Failure) { t.Errorf("told of a consequence: %v", f) }
	if outcome := mustRun(t, spec); outcome.First == nil || outcome.First.Rank != 1 || outcome.ExitCode() != 6 {
		t.Errorf("named %v", outcome.First)
	}
}

func TestReportsArriveInOrder(t *testing.T) {
	t.Parallel()
	spec, _, _ := scripted(t, 3, "phase:one", "result:1", "phase:two", "result:2")
	var in inbox
	spec.Reports = in.add
	outcome := mustRun(t, spec)
	for rank := range 3 {
		if diff := cmp.Diff([]string{"phase one", "result 1", "phase two", "result 2"}, in.of(rank)); diff != "" {
			t.Error(rank, diff)
		}
		if phase := outcome.Workers[rank].Phase; phase != "two" {
			t.Errorf("last phase %q", phase)
		}
	}
}

func TestASilentWorkerIsHung(t *testing.T) {
	t.Parallel()
	spec, _, _ := scripted(t, 2, "phase:waiting for rank 0", "ignore", "block")
	spec.Reports = new(inbox).add
	spec.Silence = 1500 * time.Millisecond
	spec.Grace = 50 * time.Millisecond
	outcome := mustRun(t, spec)
	first := outcome.First
	if first == nil || first.Report == nil || first.Report.Class != report.Timeout || first.Phase != "waiting for rank 0" {
		t.Fatalf("named %v", first)
	}
	if !strings.Contains(first.Error(), "no report from it for 1.5s") {
		t.Error(first)
	}
}

func TestAWorkerThatIgnoresSIGTERMIsKilledAfterTheGrace(t *testing.T) {
	t.Parallel()
	spec, stdout, _ := scripted(t, 2, "0=ignore", "0=print:ready\n", "1=await", "1=exit:3", "block")
	open := gate(t, &spec)
	go func() {
		stdout.await(t, "ready", 1)
		open()
	}()
	spec.Grace = 200 * time.Millisecond
	start := time.Now()
	outcome := mustRun(t, spec)
	if outcome.ExitCode() != 3 || outcome.Workers[0].Signal != syscall.SIGKILL {
		t.Errorf("got %+v", outcome)
	}
	if took := time.Since(start); took < spec.Grace {
		t.Errorf("killed after %v, within the grace", took)
	}
}

func TestTheEndOfTheContextEndsTheRun(t *testing.T) {
	reason := errors.New("another node left")
	tests := map[string]struct {
		cause  error
		code   int
		signal syscall.Signal // what workers die of
	}{
		"signal": {signals.Received{Signal: syscall.SIGHUP}, 129, syscall.SIGHUP},
		"reason": {reason, 1, syscall.SIGTERM},
	}
	for name, test := range tests {
		for _, when := range []string{"before", "during"} {
			t.Run(name+" "+when, func(t *testing.T) {
				t.Parallel()
				spec, stdout, _ := scripted(t, 2, "print:ready\n", "block")
				ctx, cancel := context.WithCancelCause(t.Context())
				started := 0
				if when == "before" {
					cancel(test.cause)
				} else {
					started = 2
					go func() {
						stdout.await(t, "ready", 2)
						cancel(test.cause)
					}()
				}
				outcome, err := Run(ctx, spec)
				if err != nil {
					t.Fatal(err)
				}
				if outcome.ExitCode() != test.code || outcome.Cause != test.cause || outcome.First != nil ||
					len(outcome.Workers) != started {
					t.Errorf("got %+v", outcome)
				}
				for _, w := range outcome.Workers {
					if w.Signal != test.signal {
						t.Errorf("got %+v", w)
					}
				}
			})
		}
	}
}

func TestSignals(t *testing.T) {
	tests := map[string]struct {
		signals []os.Signal
		words   []string
		code    int
		died    syscall.Signal
	}{
		"one is passed on": {[]os.Signal{syscall.SIGQUIT}, []string{"print:ready\n", "block"}, 131, 0},
		"two kill": {
			[]os.Signal{syscall.SIGTERM, syscall.SIGTERM}, []string{"ignore", "print:ready\n", "block"}, 143, syscall.SIGKILL,
		},
		"SIGUSR1 ends nothing": {[]os.Signal{syscall.SIGUSR1}, []string{"listen:10", "exit:0"}, 0, 0},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec, stdout, _ := scripted(t, 2, test.words...)
			signals := make(chan os.Signal)
			spec.Signals = signals
			go func() {
				stdout.await(t, "\n", 2)
				for _, s := range test.signals {
					signals <- s
				}
			}()
			start := time.Now()
			outcome := mustRun(t, spec)
			if took := time.Since(start); took >= spec.Grace {
				t.Errorf("took %v, all of the grace", took)
			}
			if outcome.ExitCode() != test.code || (test.died != 0 && outcome.Workers[0].Signal != test.died) {
				t.Errorf("exit code %d of %+v", outcome.ExitCode(), outcome)
			}
		})
	}
}

func TestWhenOneCannotBeStartedTheOthersEnd(t *testing.T) {
	t.Parallel()
	spec, stdout, _ := scripted(t, 4, "print:ready\n", "block")
	none := errors.New("no more files")
	spec.ExtraFiles = func(localRank int) ([]*os.File, error) {
		if localRank == 2 {
			stdout.await(t, "ready", 2)
			return nil, none
		}
		return nil, nil
	}
	outcome, err := Run(t.Context(), spec)
	if !errors.Is(err, none) || !strings.Contains(err.Error(), "starting rank 2") {
		t.Errorf("got %v", err)
	}
	if len(outcome.Workers) != 2 || outcome.Workers[0].Signal != syscall.SIGTERM || outcome.First != nil {
		t.Errorf("got %+v", outcome)
	}
}

func TestACommandThatIsNotThere(t *testing.T) {
	t.Parallel()
	spec, _, _ := scripted(t, 2)
	spec.Argv = []string{"/nowhere/at/all"}
	if _, err := Run(t.Context(), spec); !errors.Is(err, os.ErrNotExist) ||
		!strings.Contains(err.Error(), "starting rank 0") {
		t.Errorf("got %v", err)
	}
}

func TestRunRefuses(t *testing.T) {
	good, _, _ := scripted(t, 1)
	for name, spoil := range map[string]func(*Spec){
		"no command": func(s *Spec) { s.Argv = nil },
		"no workers": func(s *Spec) { s.Workers = 0 },
		"no output":  func(s *Spec) { s.Stderr = nil },
		"few CPUs":   func(s *Spec) { s.CPUs, s.FirstLocalRank = [][]int{{0}}, 1 },
		"no reports": func(s *Spec) { s.Silence = time.Second },
	} {
		spec := good
		spoil(&spec)
		if outcome, err := Run(t.Context(), spec); err == nil || outcome != nil {
			t.Errorf("%s: %v, %v", name, outcome, err)
		}
	}
}
