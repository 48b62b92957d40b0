package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"gpurun/cmd/gpurun/exit"
	"gpurun/worker/agent"
	"gpurun/worker/phases"
)

// streams are where a run reads and writes.
type streams struct {
	in       *os.File
	out, err io.Writer
}

// app is what all commands of one invocation share.
type app struct {
	streams
	args    []string         // the program first
	signals <-chan os.Signal // those that this process receives
	// lifeline is set in the process that does the work; see guarded.
	lifeline *agent.Lifeline
}

// run is the whole program. It returns the exit code.
func run(args []string, s streams) int {
	ctx, signals, release := agent.Catch(context.Background())
	defer release()
	lifeline, err := agent.UnderGuard()
	if err != nil {
		return complain(s.err, &exit.EnvironmentError{Err: err})
	}
	if lifeline != nil {
		defer lifeline.Close()
	}
	a := &app{streams: s, args: args, signals: signals, lifeline: lifeline}
	root := newCommand(a)
	root.SetArgs(args[1:])
	root.SetIn(s.in)
	root.SetOut(s.out)
	root.SetErr(s.err)
	if lifeline != nil {
		ctx = phases.NewContext(ctx, phases.OfAgent())
	}
	return complain(s.err, root.ExecuteContext(ctx))
}

// complain prints an error that has not been printed yet, and returns the exit
// code that belongs to it.
func complain(w io.Writer, err error) int {
	if text := exit.Describe(err); text != "" {
		fmt.Fprintf(w, "gpurun: %s\n", text)
	}
	return exit.Code(err)
}

// guarded runs work in a second process, the agent, which this one guards: it
// sees to it that nothing is left of the agent's work, however it ends. In the
// agent it calls work. See package agent.
func (a *app) guarded(work func() error) error {
	if a.lifeline != nil {
		return work()
	}
	code, err := agent.Guard(a.signals)
	if code == 0 && err != nil {
		return &exit.EnvironmentError{Err: err}
	}
	return &exit.Error{Code: code, Err: err}
}
