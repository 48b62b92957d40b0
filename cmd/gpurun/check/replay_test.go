package check

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/program"
	engine "gpurun/cudart/sim/check"
)

// planOf is the plan of a command line.
func planOf(t *testing.T, words, flags []string) *Plan {
	t.Helper()
	o := optionsOf(t, flags...)
	p, err := NewPlan(context.Background(), o, words, func(s string) { t.Log(s) })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// optionsOf are those of some flags.
func optionsOf(t *testing.T, flags ...string) *Options {
	t.Helper()
	o := &Options{}
	f := pflag.NewFlagSet("", pflag.ContinueOnError)
	o.Add(f)
	if err := f.Parse(flags); err != nil {
		t.Fatal(err)
	}
	if err := o.Read(f); err != nil {
		t.Fatal(err)
	}
	return o
}

// The file of a schedule makes the same calls again: of collectives and products, in all variants, by our algorithms
// and by kernel files. One algorithm of each stands for the others, unless all are wanted.
func TestSchedulesReplay(t *testing.T) {
	examples := filepath.Join("..", "..", "..", "kernels", "examples")
	for _, test := range []struct {
		word, algorithm string
		flags           []string
	}{
		{"allreduce", "oneshot", []string{"--sizes", "1004"}},
		{filepath.Join(examples, "packets.toml"), "", []string{"--sizes", "1004"}},
		{"allgather-matmul", "fused", []string{"-m", "12", "--sim-arch", "8.0"}},
		{"matmul-reducescatter", "fused", []string{"-m", "12", "--sim-arch", "9.0"}},
		{"matmul-allreduce", "decomposed", []string{"-m", "12", "--sim-arch", "8.0"}},
		{filepath.Join(examples, "gather_matmul.toml"), "", []string{"-m", "12"}},
	} {
		t.Run(strings.TrimSuffix(filepath.Base(test.word), ".toml"), func(t *testing.T) {
			t.Parallel()
			flags := append([]string{"--ranks", "2", "--launches", "1"}, test.flags...)
			if test.algorithm != "" && !exhaustive() {
				flags = append(flags, "--algo", test.algorithm)
			}
			for i, c := range planOf(t, []string{test.word}, flags).cases {
				for k, v := range c.variants() {
					replayOf(t, v, filepath.Join(t.TempDir(), fmt.Sprintf("%d-%d.json", i, k)))
				}
			}
		})
	}
}

// replayOf writes the file of a schedule of a case, and runs what is in it.
func replayOf(t *testing.T, c plannedCase, path string) {
	t.Helper()
	report := runOf(t, c, func(checker *engine.Checker, task func(*engine.Rank) error) (*engine.Report, error) {
		return checker.RunStrategy(engine.PCT, 3, task)
	})
	saved := merged{Found: engine.Found{Schedule: report.Schedule}, request: c.command}
	if err := saved.write(path); err != nil {
		t.Fatal(err)
	}
	s, read, err := optionsOf(t, "--replay", path).readReplay(context.Background(), func(s string) { t.Log(s) })
	if err != nil {
		t.Fatalf("%s: %v", c.variant, err)
	}
	again := runOf(t, read, func(checker *engine.Checker, task func(*engine.Rank) error) (*engine.Report, error) {
		return checker.Replay(s, task)
	})
	if again.Trace != report.Trace || again.Trace == 0 {
		t.Errorf("%s: trace %#x, and %#x when it runs again", c.variant, report.Trace, again.Trace)
	}
}

func runOf(t *testing.T, c plannedCase,
	run func(*engine.Checker, func(*engine.Rank) error) (*engine.Report, error),
) *engine.Report {
	t.Helper()
	checker, err := engine.New(c.config())
	if err != nil {
		t.Fatal(err)
	}
	report, err := run(checker, c.task)
	if err != nil {
		t.Fatalf("%s: %v", c.variant, err)
	}
	return report
}

// A race that runs again is explained as when it was found.
func TestReplayDiagnoses(t *testing.T) {
	folder := t.TempDir()
	examples := filepath.Join("..", "..", "..", "kernels", "examples")
	for _, name := range []string{"oneshot.toml", "oneshot.ptx"} {
		text, err := os.ReadFile(filepath.Join(examples, name))
		if err != nil {
			t.Fatal(err)
		}
		relaxed := strings.ReplaceAll(string(text), "st.release.sys", "st.relaxed.sys")
		if err := os.WriteFile(filepath.Join(folder, name), []byte(relaxed), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	c := planOf(t, []string{filepath.Join(folder, "oneshot.toml")}, []string{"--ranks", "2", "--sizes", "64"}).cases[0]
	e, err := engine.Explore(c.config(), engine.Exploration{Schedules: 1, Diagnose: true}, c.task)
	if err != nil || len(e.Findings) == 0 {
		t.Fatalf("findings %v, error %v", e.Findings, err)
	}
	path, shown := filepath.Join(folder, "race.json"), &strings.Builder{}
	if err := (merged{Found: e.Findings[0], request: c.command}).write(path); err != nil {
		t.Fatal(err)
	}
	notify := func(s string) { t.Log(s) }
	a := &program.Invocation{Out: shown, Err: io.Discard}
	if err := ShowReplay(context.Background(), a, optionsOf(t, "--replay", path), notify); err == nil {
		t.Error("no exit code says that there is a finding")
	}
	if want := e.Findings[0].Advice; want == "" || !strings.Contains(shown.String(), want) {
		t.Errorf("the advice %q is not shown again:\n%s", want, shown)
	}
}
