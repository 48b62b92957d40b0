package agent

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/sys/unix"

	"gpurun/worker/process/output"
	"gpurun/worker/process/signals"
	"gpurun/worker/process/spawn"
)

// create returns an open file of a test's folder and its path.
func create(t *testing.T, name string) (*os.File, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	return file, path
}

func contents(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestOutputGoesToFiles(t *testing.T) {
	const written = "a\n\r10%\r20%\nend"
	tests := map[string]struct {
		hidden bool
		line   bool
		shown  string
		lines  []string
	}{
		"instead":      {hidden: true},
		"as well":      {shown: "[rank 0] a\n[rank 0] 10%\r[rank 0] 20%\n[rank 0] end\n"},
		"line by line": {hidden: true, line: true, lines: []string{"a\n", "10%\r", "20%\n", "end"}},
		"all of it all": {
			line: true, shown: "[rank 0] a\n[rank 0] 10%\r[rank 0] 20%\n[rank 0] end\n",
			lines: []string{"a\n", "10%\r", "20%\n", "end"},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec, stdout, _ := shell(t, 1, `printf 'a\n\r10%%\r20%%\nend'`)
			file, path := create(t, "stdout.log")
			var lines []string
			spec.Prefix = rankPrefix
			spec.Output = func(int) (output.Destination, output.Destination, error) {
				to := output.Destination{File: file, Hidden: test.hidden}
				if test.line {
					to.Line = func(line []byte) error { lines = append(lines, string(line)); return nil }
				}
				return to, output.Destination{}, nil
			}
			mustRun(t, spec)
			if diff := cmp.Diff([]string{written, test.shown}, []string{contents(t, path), stdout.String()}); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(test.lines, lines); diff != "" {
				t.Error(diff)
			}
			if err := file.Close(); !errors.Is(err, os.ErrClosed) {
				t.Errorf("the agent left the file open: %v", err)
			}
		})
	}
}

func TestAWorkerWritesToAFileItself(t *testing.T) {
	t.Parallel()
	spec, _, stderr := shell(t, 1, `file=$(readlink /proc/$$/fd/1); echo "$file" >&2`)
	file, path := create(t, "stdout.log")
	spec.Output = func(int) (output.Destination, output.Destination, error) {
		return output.Destination{File: file, Hidden: true}, output.Destination{}, nil
	}
	mustRun(t, spec)
	if got := strings.TrimSpace(stderr.String()); got != path {
		t.Errorf("it writes to %s", got)
	}
}

func TestLastWordsInAFile(t *testing.T) {
	t.Parallel()
	spec, _, stderr := shell(t, 1, `i=0; while [ $i -lt 3000 ]; do echo "line $i"; i=$((i+1)); done >&2; exit 3`)
	file, _ := create(t, "stderr.log")
	spec.Output = func(int) (output.Destination, output.Destination, error) {
		return output.Destination{}, output.Destination{File: file, Hidden: true}, nil
	}
	outcome := mustRun(t, spec)
	const tailLines = 20 // see output.Tail
	last := outcome.First.LastStderr
	if len(last) != tailLines || last[tailLines-1] != "line 2999" || stderr.String() != "" {
		t.Errorf("last lines %q, shown %q", last, stderr)
	}
}

func TestAFileThatIsFullEndsTheRun(t *testing.T) {
	t.Parallel()
	spec, _, _ := shell(t, 2, `echo hello; exec sleep 60`)
	spec.Output = func(int) (output.Destination, output.Destination, error) {
		full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
		return output.Destination{File: full}, output.Destination{}, err
	}
	if _, err := Run(t.Context(), spec); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("got %v", err)
	}
}

func TestFilesThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	spec, _, _ := shell(t, 2, `exec sleep 60`)
	opened, _ := create(t, "stdout.log")
	spec.Output = func(localRank int) (output.Destination, output.Destination, error) {
		if localRank == 0 {
			return output.Destination{}, output.Destination{}, nil
		}
		return output.Destination{File: opened}, output.Destination{}, os.ErrPermission
	}
	if _, err := Run(t.Context(), spec); !errors.Is(err, os.ErrPermission) ||
		!strings.Contains(err.Error(), "starting rank 1") {
		t.Errorf("got %v", err)
	}
	if err := opened.Close(); !errors.Is(err, os.ErrClosed) {
		t.Errorf("the agent left the file open: %v", err)
	}
}

// Rank 1 says why it fails before rank 2 exits, and exits after it.
func TestARecordCountsBeforeAnExit(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	spec, stdout, _ := shell(t, 3, `case $RANK in
	1) trap 'exit 4' TERM; echo '{}' >error1; echo ready; while :; do sleep 0.02; done ;;
	2) until test -s error1; do sleep 0.02; done; exit 9 ;;
	esac; exec sleep 60`)
	spec.Argv[2] = fmt.Sprintf("cd %s; %s", folder, spec.Argv[2])
	spec.ErrorFile = func(localRank int) string { return filepath.Join(folder, "error"+strconv.Itoa(localRank)) }
	outcome := mustRun(t, spec)
	stdout.await(t, "ready", 1)
	var got []string
	for _, f := range outcome.Failures {
		got = append(got, fmt.Sprintf("rank %d, code %d, %q", f.Rank, f.ExitCode, filepath.Base(f.ErrorFile)))
	}
	if diff := cmp.Diff([]string{`rank 1, code 4, "error1"`, `rank 2, code 9, "."`}, got); diff != "" {
		t.Error(diff)
	}
	if outcome.First.Rank != 1 || outcome.ExitCode() != 4 {
		t.Errorf("named %v", outcome.First)
	}
}

// Rank 1 would end by itself if rank 2 were not faster.
func TestARecordOfAWorkerThatTheAgentEnds(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "error")
	spec, _, _ := shell(t, 3, fmt.Sprintf(`case $RANK in
	1) echo '{}' >%[1]s ;;
	2) until test -s %[1]s; do sleep 0.02; done; exit 9 ;;
	esac; exec sleep 60`, path))
	spec.ErrorFile = func(localRank int) string {
		if localRank == 1 {
			return path
		}
		return ""
	}
	outcome := mustRun(t, spec)
	first := outcome.First
	if first.Rank != 1 || !first.Ended || outcome.ExitCode() != 1 ||
		!strings.HasSuffix(first.Error(), "recorded a failure in "+path) {
		t.Errorf("exit code %d of %v", outcome.ExitCode(), first)
	}
	if len(outcome.Failures) != 2 || outcome.Failures[1].Rank != 2 || outcome.Failures[1].Ended {
		t.Errorf("failures %v", outcome.Failures)
	}
}

func TestSignalsThatAreHandled(t *testing.T) {
	tests := map[string]struct {
		handled []syscall.Signal
		send    syscall.Signal
		died    spawn.ExitStatus
	}{
		"one more":  {[]syscall.Signal{syscall.SIGTERM, syscall.SIGUSR1}, syscall.SIGUSR1, spawn.ExitStatus{Code: 3}},
		"one fewer": {[]syscall.Signal{syscall.SIGUSR1}, syscall.SIGTERM, spawn.ExitStatus{Signal: syscall.SIGKILL}},
		"none":      {[]syscall.Signal{}, syscall.SIGHUP, spawn.ExitStatus{Signal: syscall.SIGKILL}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec, stdout, _ := shell(t, 2, `trap 'exit 3' TERM HUP USR1; echo ready; while :; do sleep 0.02; done`)
			signals := make(chan os.Signal)
			spec.Signals, spec.Handled = signals, test.handled
			go func() {
				stdout.await(t, "ready", 2)
				signals <- test.send
			}()
			outcome := mustRun(t, spec)
			if outcome.Signal != test.send || outcome.ExitCode() != 128+int(test.send) {
				t.Errorf("got %+v", outcome)
			}
			for _, w := range outcome.Workers {
				if got := (spawn.ExitStatus{Code: w.ExitCode, Signal: w.Signal}); got != test.died {
					t.Errorf("a worker ended with %+v, want %+v", got, test.died)
				}
			}
		})
	}
}

// A stopped worker sees neither SIGTERM nor its own end coming.
func TestAStoppedWorkerDoesNotKeepTheRun(t *testing.T) {
	tests := map[string]struct{ trap, want string }{
		"it ends when it is continued": {"", "SIGTERM"},
		"it does not":                  {`trap "" TERM CONT;`, "SIGKILL"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec, _, _ := shell(t, 2, test.trap+` case $RANK in
			0) while :; do kill -STOP $$; done ;;
			1) until grep -q '^State:.T' /proc/$(cat $PIDFILE)/status; do sleep 0.02; done; exit 5 ;;
			esac`)
			_, path := create(t, "pid")
			spec.Argv[2] = "PIDFILE=" + path + "; [ $RANK = 1 ] || echo $$ >$PIDFILE; " + spec.Argv[2]
			spec.Grace = timeout
			if test.trap != "" {
				spec.Grace = 1
			}
			outcome := mustRun(t, spec)
			if outcome.ExitCode() != 5 || signals.Name(outcome.Workers[0].Signal) != test.want {
				t.Errorf("got %+v", outcome)
			}
		})
	}
}

func TestTheLocalRankInArguments(t *testing.T) {
	t.Parallel()
	spec, stdout, _ := scripted(t, 2)
	spec.Argv = []string{"/bin/echo", "gpu=${local_rank},${local_rank}", "$local_rank $$"}
	mustRun(t, spec)
	for rank := range 2 {
		if want := fmt.Sprintf("gpu=%d,%d $local_rank $$\n", rank, rank); !strings.Contains(stdout.String(), want) {
			t.Errorf("no %q in %q", want, stdout)
		}
	}
}

// counter is an output that counts bytes.
type counter struct {
	mu sync.Mutex
	n  int64
}

func (c *counter) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n += int64(len(p))
	return len(p), nil
}

// BenchmarkOutput passes lines of 80 bytes of two workers on, to the console and a
// file. Nothing may be lost.
func BenchmarkOutput(b *testing.B) {
	const size = 64 << 20
	script := fmt.Sprintf("yes %079d | head -c %d", 0, size)
	b.SetBytes(2 * size)
	for b.Loop() {
		var shown counter
		folder := b.TempDir()
		_, err := Run(b.Context(), Spec{
			Argv: []string{"/bin/sh", "-c", script}, Workers: 2, Stdout: &shown, Stderr: &shown, Prefix: rankPrefix,
			Output: func(localRank int) (output.Destination, output.Destination, error) {
				file, err := os.Create(filepath.Join(folder, strconv.Itoa(localRank)))
				return output.Destination{File: file}, output.Destination{}, err
			},
		})
		if err != nil {
			b.Fatal(err)
		}
		if want := int64(2 * size / 80 * (80 + len("[rank 0] "))); shown.n < want {
			b.Fatalf("%d bytes, want %d", shown.n, want)
		}
		for rank := range 2 {
			if info, err := os.Stat(filepath.Join(folder, strconv.Itoa(rank))); err != nil || info.Size() != size {
				b.Fatal(info, err)
			}
		}
	}
}

func TestWorkersRunOnTheirCPUs(t *testing.T) {
	t.Parallel()
	var allowed unix.CPUSet
	if err := unix.SchedGetaffinity(0, &allowed); err != nil {
		t.Fatal(err)
	}
	spec, stdout, _ := shell(t, 2, `grep Cpus_allowed_list /proc/$$/status`)
	var want []string
	for cpu := 0; len(spec.CPUs) < 2; cpu++ {
		if cpu == 1024 {
			t.Skip("there are no two CPUs")
		}
		if allowed.IsSet(cpu) {
			spec.CPUs = append(spec.CPUs, []int{cpu})
			want = append(want, fmt.Sprintf("[rank %d] Cpus_allowed_list:\t%d\n", len(want), cpu))
		}
	}
	spec.Prefix = rankPrefix
	mustRun(t, spec)
	for _, line := range want {
		if !strings.Contains(stdout.String(), line) {
			t.Errorf("no %q in %q", line, stdout)
		}
	}
	// The second worker alone, where others have an agent of their own.
	second, stdout, _ := shell(t, 1, `grep Cpus_allowed_list /proc/$$/status`)
	second.CPUs, second.Prefix, second.FirstRank, second.FirstLocalRank = spec.CPUs, rankPrefix, 1, 1
	mustRun(t, second)
	if !strings.Contains(stdout.String(), want[1]) {
		t.Errorf("no %q in %q", want[1], stdout)
	}
	spec.CPUs = [][]int{{1023}, {1023}}
	if _, err := Run(t.Context(), spec); !errors.Is(err, syscall.EINVAL) ||
		!strings.Contains(err.Error(), "binding it to CPUs [1023]") {
		t.Errorf("got %v", err)
	}
}
