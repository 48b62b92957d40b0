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
	"gpurun/worker/process/signals"
)

// roleVariable makes the test binary, executed again, play a part of a real
// run instead of running tests.
const roleVariable = "GPURUN_TEST_ROLE"

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVariable); role {
	case "":
		heedSignals()
		goleak.VerifyTestMain(m)
	case "gpurun":
		os.Exit(playGpurun())
	case "worker":
		os.Exit(playWorker(os.Args[1:]))
	default:
		fmt.Fprintln(os.Stderr, "no such role:", role)
		os.Exit(99)
	}
}

// heedSignals catches SIGHUP and SIGINT where this process was started with
// them ignored, as by nohup or a script's "&". What is ignored stays ignored in
// the processes that the tests start; what is caught does not.
func heedSignals() {
	unheard := make(chan os.Signal, 1)
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT} {
		if signal.Ignored(s) {
			signal.Notify(unheard, s)
		}
	}
}

// What playGpurun is told by its environment.
const (
	workersVariable = "GPURUN_TEST_WORKERS" // how many to start
	flawVariable    = "GPURUN_TEST_FLAW"    // what is wrong with it
	unguarded       = "no guard"
	deaf            = "does not notice that the guard is gone"
)

// playGpurun is a whole gpurun: guard and agent. It runs its arguments.
func playGpurun() int {
	ctx, caught, stop := signals.Catch(context.Background())
	defer stop()
	flaw := os.Getenv(flawVariable)
	if flaw == unguarded {
		return playAgent(ctx, caught, nil)
	}
	lifeline, err := guard.OpenLifeline()
	if err == nil && lifeline == nil {
		code, err := guard.Run(caught)
		if err != nil {
			fmt.Fprintln(os.Stderr, "guard:", err)
		}
		return code
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 98
	}
	defer lifeline.Close()
	if flaw == deaf {
		return playAgent(ctx, caught, nil)
	}
	return playAgent(ctx, caught, lifeline)
}

func playAgent(ctx context.Context, caught <-chan os.Signal, lifeline *guard.Lifeline) int {
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
