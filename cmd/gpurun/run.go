package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/program"
	"gpurun/worker/agent"
	"gpurun/worker/phases"
)

// run is the whole program. It returns the exit code.
func run(args []string, stdin *os.File, stdout, stderr io.Writer) int {
	ctx, signals, release := agent.Catch(context.Background())
	defer release()
	lifeline, err := agent.UnderGuard()
	if err != nil {
		return complain(stderr, &exit.EnvironmentError{Err: err})
	}
	if lifeline != nil {
		defer lifeline.Close()
		ctx = phases.NewContext(ctx, phases.OfAgent())
	}
	a := &program.Invocation{In: stdin, Out: stdout, Err: stderr, Args: args, Signals: signals, Lifeline: lifeline}
	root := newCommand(a)
	root.SetArgs(args[1:])
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	return complain(stderr, root.ExecuteContext(ctx))
}

// complain prints an error that has not been printed yet, and returns the exit
// code that belongs to it.
func complain(w io.Writer, err error) int {
	if text := exit.Describe(err); text != "" {
		fmt.Fprintf(w, "gpurun: %s\n", text)
	}
	return exit.Code(err)
}
