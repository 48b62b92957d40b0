package main

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"gpurun/cudart/driver"
)

// TestMain lets the scripts run this test binary as gpurun: testscript puts a
// copy with that name into PATH, and gpurun executes itself by that path.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"gpurun": main})
}

// TestScripts runs the command line's stories, real processes and all. Beyond
// testscript's own commands they have
//
//	exits CODE COMMAND...   runs the command, which must exit with the code
//	within TIME             the exits before took no longer than this
//
// and the condition gpu.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "within": tookAtMost,
		},
		Condition: func(condition string) (bool, error) {
			if condition != "gpu" {
				return false, fmt.Errorf("there is no condition %q", condition)
			}
			_, err := driver.New().Devices()
			return err == nil, nil
		},
		RequireExplicitExec: true,
		Deadline:            time.Now().Add(2 * time.Minute),
		Setup: func(env *testscript.Env) error {
			env.Values[took] = new(time.Duration)
			return nil
		},
	})
}

// took is the key under which a script keeps how long its last exits took.
const took = "took"

func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	begun := time.Now()
	err = ts.Exec(args[1], args[2:]...)
	*ts.Value(took).(*time.Duration) = time.Since(begun)
	code := 0
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		code = exit.ExitCode()
	case err != nil:
		ts.Fatalf("running %s: %v", args[1], err)
	}
	if code != want {
		ts.Fatalf("exit code %d, want %d", code, want)
	}
}

func tookAtMost(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: within TIME")
	}
	most, err := time.ParseDuration(args[0])
	ts.Check(err)
	if d := *ts.Value(took).(*time.Duration); d > most {
		ts.Fatalf("it took %v, want at most %v", d, most)
	}
}
