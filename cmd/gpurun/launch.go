package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"gpurun/cudart/driver"
	"gpurun/worker/agent"
)

// launch runs words as a command in every process, as torchrun does.
func launch(cmd *cobra.Command, a *app, words []string) error {
	for _, name := range []string{"device", "require-gpu", "oversubscribe"} {
		if cmd.Flags().Changed(name) {
			return hinted(usagef("--%s is for gpurun's own collectives, and %s is a command", name, words[0]), cmd)
		}
	}
	settings, err := loadSettings(cmd)
	if err != nil {
		return err
	}
	c, err := settings.config()
	if err != nil {
		return err
	}
	log, err := newLogger(c, a.err)
	if err != nil {
		return err
	}
	argv, err := agent.Command(words)
	if err != nil {
		return err
	}
	workers, err := c.NProcPerNode.forCommand()
	if err != nil {
		return err
	}
	return a.guarded(func() error {
		port, err := agent.FreePort()
		if err != nil {
			return err
		}
		outcome, err := agent.Run(cmd.Context(), agent.Spec{
			Argv:    argv,
			Workers: workers,
			Env: agent.TorchEnv(agent.TorchJob{
				Workers: workers, WorldSize: workers, GroupSize: 1, Role: "default", RunID: "none",
				MasterAddr: "127.0.0.1", MasterPort: port,
			}, log),
			Stdin:    a.in,
			Grace:    time.Duration(c.Grace),
			Signals:  a.signals,
			Stdout:   a.out,
			Stderr:   a.err,
			Prefix:   rankPrefix(workers),
			Lifeline: a.lifeline,
			Logger:   log,
		})
		return commandEnd(outcome, err, a.err)
	})
}

// commandEnd says how a command ended and passes its exit code on.
func commandEnd(o *agent.Outcome, err error, stderr io.Writer) error {
	if o == nil {
		return err
	}
	explainOutcome(stderr, o)
	if code := o.ExitCode(); code != 0 {
		return &exitError{code: code, err: err}
	}
	return err
}

// rankPrefix marks lines of output when there are several ranks.
func rankPrefix(workers int) func(rank int) string {
	return func(rank int) string {
		if workers == 1 {
			return ""
		}
		return fmt.Sprintf("[rank %d] ", rank)
	}
}

// forCommand is the number of processes of a command, 1 by default. As under
// torchrun, auto is the number of GPUs, or of CPUs where there is no GPU.
func (p processes) forCommand() (int, error) {
	switch p.word {
	case "cpu":
		return runtime.NumCPU(), nil
	case "gpu", "auto":
		gpus, err := driver.New().Devices()
		if err != nil && p.word == "auto" {
			return runtime.NumCPU(), nil
		}
		if err != nil {
			return 0, &environmentError{fmt.Errorf("--nproc-per-node gpu: there is no GPU: %s", whyNoGPU(err))}
		}
		return len(gpus), nil
	}
	return max(p.number, 1), nil
}

// explainOutcome names the first failure with the worker's last words, and in
// short what became of the others.
func explainOutcome(w io.Writer, o *agent.Outcome) {
	var b strings.Builder
	switch {
	case o.First != nil:
		fmt.Fprintf(&b, "gpurun: %s\n", o.First)
		if last := o.First.LastStderr; len(last) > 0 {
			fmt.Fprintf(&b, "  its last lines of stderr:\n    %s\n", strings.Join(last, "\n    "))
		}
		if others := len(o.Workers) - 1; others > 0 {
			fmt.Fprintf(&b, "  the other %s ended because of it\n", count(others, "rank was", "ranks were"))
		}
	case o.Signal != 0:
		fmt.Fprintf(&b, "gpurun: ended by %s\n", agent.SignalName(o.Signal))
	case o.Cause != nil:
		fmt.Fprintf(&b, "gpurun: ended early: %v\n", o.Cause)
	}
	for _, worker := range o.Workers {
		if worker.Stuck {
			fmt.Fprintf(&b, "  rank %d (pid %d) did not die of SIGKILL and is left behind\n", worker.Rank, worker.PID)
		}
	}
	io.WriteString(w, b.String())
}

// count puts a number before a noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// self is the command line of this program.
func self(args ...string) ([]string, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	return append([]string{path}, args...), nil
}
