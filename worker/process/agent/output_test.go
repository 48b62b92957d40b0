package agent

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpurun/worker/process/signals"
)

func rankPrefix(rank int) string { return fmt.Sprintf("[rank %d] ", rank) }

// shell is a Spec for workers that run a shell script.
func shell(t *testing.T, workers int, script string) (spec Spec, stdout, stderr *recordedOutput) {
	t.Helper()
	spec, stdout, stderr = scripted(t, workers)
	spec.Argv = []string{"/bin/sh", "-c", script}
	return spec, stdout, stderr
}

// byteWise is an output that takes one byte at a time, and others in between.
type byteWise struct{ recordedOutput *recordedOutput }

func (c byteWise) Write(p []byte) (int, error) {
	for i := range p {
		if _, err := c.recordedOutput.Write(p[i : i+1]); err != nil {
			return i, err
		}
		runtime.Gosched()
	}
	return len(p), nil
}

func TestLinesOfConcurrentWorkersStayWhole(t *testing.T) {
	t.Parallel()
	const workers, count = 8, 200
	const script = `i=0; while [ $i -lt %d ]; do
		printf %%s "$RANK "; echo "$i end"; echo "$RANK $i end" >&2; i=$((i+1))
	done`
	spec, stdout, stderr := shell(t, workers, fmt.Sprintf(script, count))
	spec.Prefix = rankPrefix
	spec.Stdout, spec.Stderr = byteWise{stdout}, byteWise{stderr}
	mustRun(t, spec)
	for _, shown := range []*recordedOutput{stdout, stderr} {
		next := make([]int, workers)
		for line := range strings.Lines(shown.String()) {
			var prefix, rank, i int
			if n, err := fmt.Sscanf(line, "[rank %d] %d %d end\n", &prefix, &rank, &i); n != 3 || err != nil || prefix != rank ||
				next[rank] != i {
				t.Fatalf("line %q, expecting %v", line, next)
			}
			next[rank]++
		}
		for rank, n := range next {
			if n != count {
				t.Errorf("%d lines of rank %d, want %d", n, rank, count)
			}
		}
	}
}

// lineCounter counts the lines that it gets, and notes the longest write.
type lineCounter struct {
	lines   map[string]int
	longest int
	bytes   int
}

func (c *lineCounter) Write(p []byte) (int, error) {
	for line := range bytes.Lines(p) {
		c.lines[string(line)]++
	}
	c.longest, c.bytes = max(c.longest, len(p)), c.bytes+len(p)
	return len(p), nil
}

// Every line arrives, and once, as fast as workers write. Short lines grow by their
// prefixes, and the agent keeps no more of them than of others.
func TestNothingIsLostAtFullSpeed(t *testing.T) {
	t.Parallel()
	for line, count := range map[string]int{"": 1_000_000, strings.Repeat("x", 100): 250_000} {
		const workers = 4
		spec, _, _ := shell(t, workers, fmt.Sprintf(`yes "%s" | head -n %d`, line, count))
		shown := &lineCounter{lines: map[string]int{}}
		spec.Prefix, spec.Stdout = rankPrefix, shown
		begin := time.Now()
		mustRun(t, spec)
		t.Logf("%.0f MB/s of lines of %d bytes", float64(shown.bytes)/1e6/time.Since(begin).Seconds(), len(line))
		want := map[string]int{}
		for rank := range workers {
			want[rankPrefix(rank)+line+"\n"] = count
		}
		if diff := cmp.Diff(want, shown.lines); diff != "" {
			t.Error(diff)
		}
		if bound := 64<<10 + 1<<20; shown.longest > bound {
			t.Errorf("%d bytes were kept for one write, over one read and one line of %d", shown.longest, bound)
		}
	}
}

func TestOutput(t *testing.T) {
	tests := map[string]struct {
		workers int
		prefix  func(int) string
		script  string
		want    string
	}{
		"prefix":          {1, rankPrefix, `printf 'a\nb'`, "[rank 0] a\n[rank 0] b\n"},
		"progress":        {1, rankPrefix, `printf '\r1%%\r2%%\n'`, "[rank 0] 1%\r[rank 0] 2%\n"},
		"alone":           {1, nil, `printf 'a\nb \r\001'`, "a\nb \r\001"},
		"whole lines":     {2, nil, `[ $RANK = 0 ] || exit 0; printf a`, "a\n"},
		"first rank is 8": {1, rankPrefix, `echo hi`, "[rank 8] hi\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec, stdout, _ := shell(t, test.workers, test.script)
			spec.Prefix = test.prefix
			if strings.HasPrefix(test.want, "[rank 8]") {
				spec.FirstRank = 8
			}
			mustRun(t, spec)
			if diff := cmp.Diff(test.want, stdout.String()); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestAPromptShowsBeforeItsLineEnds(t *testing.T) {
	t.Parallel()
	spec, stdout, _ := shell(t, 1, `printf '(Pdb) '; read line; echo "got $line"`)
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	spec.Stdin = read
	go func() {
		stdout.await(t, "(Pdb) ", 1)
		fmt.Fprintln(write, "continue")
		write.Close()
	}()
	mustRun(t, spec)
	if diff := cmp.Diff("(Pdb) got continue\n", stdout.String()); diff != "" {
		t.Error(diff)
	}
}

func TestAProcessThatKeepsThePipeDoesNotKeepTheRun(t *testing.T) {
	t.Parallel()
	// It leaves the session, so that without a lifeline it is out of reach.
	spec, stdout, _ := shell(t, 2, `setsid sh -c 'echo $$; exec sleep 30' & read line < /dev/null; sleep 0.1; echo bye`)
	spec.Prefix = rankPrefix
	start := time.Now()
	mustRun(t, spec)
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("took %v", took)
	}
	stdout.await(t, "bye", 2)
	for line := range strings.Lines(stdout.String()) {
		if pid, err := strconv.Atoi(strings.TrimSpace(line[len("[rank 0] "):])); err == nil {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Error(err)
			}
		}
	}
}

// slow is an output that takes nothing until it is released.
type blockedOutput struct {
	release        <-chan struct{}
	recordedOutput *recordedOutput
}

func (s blockedOutput) Write(p []byte) (int, error) {
	<-s.release
	return s.recordedOutput.Write(p)
}

func TestASlowReaderGetsEverything(t *testing.T) {
	t.Parallel()
	spec, stdout, _ := shell(t, 1, `i=0; while [ $i -lt 3000 ]; do echo "line $i"; i=$((i+1)); done; echo done >&2`)
	release := make(chan struct{})
	spec.Stdout = blockedOutput{release, stdout}
	time.AfterFunc(2*pipeBound, func() { close(release) })
	mustRun(t, spec)
	if n := strings.Count(stdout.String(), "\n"); n != 3000 {
		t.Errorf("%d lines", n)
	}
}

func TestNobodyReadsAndTheUserGivesUp(t *testing.T) {
	t.Parallel()
	spec, stdout, stderr := shell(t, 1, `echo hello; echo done >&2`)
	release := make(chan struct{})
	defer close(release)
	spec.Stdout = blockedOutput{release, stdout}
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		stderr.await(t, "done", 1)
		cancel(signals.Received{Signal: syscall.SIGINT})
	}()
	if _, err := Run(ctx, spec); err == nil || !strings.Contains(err.Error(), "its reader did not read for") {
		t.Errorf("got %v", err)
	}
}

// closed is an output that fails.
type failingOutput struct{}

func (failingOutput) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }

func TestOutputThatFailsEndsTheRun(t *testing.T) {
	t.Parallel()
	spec, _, _ := shell(t, 2, `echo hello; exec sleep 60`)
	spec.Stdout = failingOutput{}
	outcome, err := Run(t.Context(), spec)
	if !errors.Is(err, io.ErrClosedPipe) || outcome.First != nil {
		t.Errorf("got %+v, %v", outcome, err)
	}
}

func TestLastLineBeforeTheEndThatFails(t *testing.T) {
	t.Parallel()
	spec, _, _ := shell(t, 1, `printf hello`)
	spec.Stdout = failingOutput{}
	if _, err := Run(t.Context(), spec); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("got %v", err)
	}
}
