package agent

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"

	"gpurun/worker/process/guard"
	"gpurun/worker/process/processtest"
	"gpurun/worker/process/signals"
)

// roleVariable makes the test binary, executed again, a process of a real
// run instead of running tests.
const roleVariable = "GPURUN_TEST_ROLE"

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVariable); role {
	case "":
		catchIgnoredSignals()
		processtest.ManyAtOnce()
		goleak.VerifyTestMain(m)
	case "gpurun":
		os.Exit(runGpurun())
	case "worker":
		os.Exit(runScriptedWorker(os.Args[1:]))
	default:
		fmt.Fprintln(os.Stderr, "no such role:", role)
		os.Exit(99)
	}
}

// catchIgnoredSignals catches SIGHUP and SIGINT where this process was started with
// them ignored, as by nohup or a script's "&". What is ignored stays ignored in
// the processes that the tests start; what is caught does not.
func catchIgnoredSignals() {
	unheard := make(chan os.Signal, 1)
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) {
			signal.Notify(unheard, s)
		}
	}
}

// Environment variables that tell runGpurun what to do.
const (
	workersVariable = "GPURUN_TEST_WORKERS" // how many to start
	faultVariable   = "GPURUN_TEST_FAULT"   // what is wrong with it
	unguarded       = "no guard"
	ignoresGuard    = "does not notice that the guard is gone"
	deaf            = "does not answer signals"
	crashes         = "panics"
)

// runGpurun is a whole gpurun: guard and agent. It runs its arguments.
func runGpurun() int {
	ctx, caught, stop := signals.Catch(context.Background())
	defer stop()
	flaw := os.Getenv(faultVariable)
	if flaw == unguarded {
		return runAgent(ctx, caught, nil)
	}
	lifeline, err := guard.OpenLifeline()
	if err == nil && lifeline == nil {
		code, err := guard.Run(caught, func(text string) { fmt.Fprintln(os.Stderr, "guard:", text) })
		if err != nil {
			fmt.Fprintln(os.Stderr, "guard:", err)
		}
		return code
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	os.Stderr = lifeline.Stderr
	defer lifeline.Close()
	switch flaw {
	case ignoresGuard:
		return runAgent(ctx, caught, nil)
	case deaf:
		return runAgent(context.Background(), nil, nil)
	case crashes:
		time.AfterFunc(100*time.Millisecond, func() { panic("on purpose") })
	}
	ctx = lifeline.Context(ctx)
	defer context.AfterFunc(ctx, lifeline.Answer)()
	return runAgent(ctx, caught, lifeline)
}

func runAgent(ctx context.Context, caught <-chan os.Signal, lifeline *guard.Lifeline) int {
	workers, err := strconv.Atoi(os.Getenv(workersVariable))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	outcome, err := Run(ctx, Spec{
		Argv:     os.Args[1:],
		Workers:  workers,
		Env:      func(localRank int) []string { return []string{"RANK=" + strconv.Itoa(localRank)} },
		Stdin:    os.Stdin,
		Stdout:   os.Stdout,
		Stderr:   os.Stderr,
		Grace:    500 * time.Millisecond,
		Signals:  caught,
		Lifeline: lifeline,
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "agent:", err)
		return 97
	}
	if outcome.First != nil {
		fmt.Fprintln(os.Stderr, outcome.First)
	}
	return outcome.ExitCode()
}
