package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/outcome"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/sources"
	"gpurun/worker/process/guard"
	"gpurun/worker/process/output"
	"gpurun/worker/process/signals"
	"gpurun/worker/result/phases"
)

// run is the whole program. It returns the exit code.
func run(args []string, stdin *os.File, stdout, stderr io.Writer) int {
	ctx, signals, release := signals.Catch(context.Background())
	defer release()
	stdout, stderr = outlet(ctx, stdout), outlet(ctx, stderr)
	lifeline, err := guard.OpenLifeline()
	if err != nil {
		return complain(stderr, &exit.EnvironmentError{Err: err})
	}
	if lifeline != nil {
		defer lifeline.Close()
		ctx = phases.NewContext(ctx, phases.OfAgent())
		if err := warnOfSlips(stderr); err != nil {
			return complain(stderr, err)
		}
	}
	a := &program.Invocation{In: stdin, Out: stdout, Err: stderr, Args: args, Signals: signals, Lifeline: lifeline}
	root := newCommand(a)
	root.SetArgs(args[1:])
	root.SetIn(stdin)
	help := &attentive{w: stdout}
	root.SetOut(help)
	root.SetErr(stderr)
	return complain(stderr, cmp.Or(root.ExecuteContext(ctx), help.lost()))
}

// outlet is a standard stream whose reader may stall.
func outlet(ctx context.Context, w io.Writer) io.Writer {
	if file, ok := w.(*os.File); ok {
		return output.NewBoundedWriter(ctx, file)
	}
	return w
}

// warnOfSlips names variables of the environment that nobody reads because they are misspelt.
func warnOfSlips(stderr io.Writer) error {
	slips, err := sources.Misspelt(os.Environ())
	for _, slip := range slips {
		fmt.Fprintf(stderr, "gpurun: warning: %s\n", slip)
	}
	return err
}

// attentive is a writer for what cobra prints, who does not look whether it arrives.
type attentive struct {
	w   io.Writer
	err error // the first
}

func (a *attentive) Write(p []byte) (int, error) {
	n, err := a.w.Write(p)
	a.err = cmp.Or(a.err, err)
	return n, err
}

// lost says that something has not arrived, or returns nil.
func (a *attentive) lost() error {
	if a.err == nil {
		return nil
	}
	return &exit.EnvironmentError{Err: fmt.Errorf("writing to standard output: %w", a.err)}
}

// complain prints an error that has not been printed yet, and returns the exit
// code that belongs to it.
func complain(w io.Writer, err error) int {
	if text := exit.Describe(err); text != "" {
		fmt.Fprintf(w, "gpurun: %s\n", text)
	}
	return exit.Code(err)
}

// perform plans work in the agent, where everything is checked that can be checked
// beforehand, and then does it. CI systems hear under the title how it ended.
func perform[P any](cmd *cobra.Command, a *program.Invocation, title string, plan func() (P, error), do func(context.Context, *program.Invocation, P) error) error {
	return outcome.Annotated(a, title, a.Guarded(func() error {
		p, err := plan()
		if err != nil {
			return outcome.Unable(a, title, cmd.Flags(), err)
		}
		return do(cmd.Context(), a, p)
	}))
}
