package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/session"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/terminal"
	"gpurun/cmd/gpurun/torchrun"
	"gpurun/worker/process/crash"
	"gpurun/worker/process/guard"
	"gpurun/worker/process/output"
	"gpurun/worker/process/signals"
	"gpurun/worker/result/phases"
)

func main() {
	if err := crash.CheckRuntime(); err != nil {
		os.Exit(printError(os.Stderr, &exit.EnvironmentError{Err: err}))
	}
	os.Exit(run(os.Args, os.Stdin, os.Stdout, os.Stderr))
}

// run is the whole program. It returns the exit code.
func run(args []string, stdin *os.File, stdout, stderr io.Writer) int {
	ctx, caught, release := signals.Catch(context.Background())
	defer release()
	lifeline, err := guard.OpenLifeline()
	if lifeline != nil {
		stderr = output.NewBoundedWriter(ctx, lifeline.Stderr).WithSIGPIPE()
	}
	stdout, stderr = boundedWriter(ctx, stdout), boundedWriter(ctx, stderr)
	messages := program.NewMessages(terminal.Messages(stderr))
	if err != nil {
		return printError(messages, &exit.EnvironmentError{Err: err})
	}
	if lifeline != nil {
		defer lifeline.Close()
		ctx = lifeline.Context(ctx)
		defer context.AfterFunc(ctx, lifeline.Answer)()
		ctx = phases.NewContext(ctx, phases.OfAgent())
		if err := warnOfMisspelledVariables(messages); err != nil {
			return printError(messages, err)
		}
	}
	a := &program.Invocation{
		In: stdin, Out: terminal.NewPainter(stdout, os.Getenv), Err: messages, Args: args, Signals: caught,
		Lifeline: lifeline,
	}
	root := newCommand(a)
	root.SetArgs(args[1:])
	root.SetIn(stdin)
	out := &errorKeeper{w: stdout}
	root.SetOut(out)
	root.SetErr(messages)
	if err := refuseInFront(root, args[1:]); err != nil {
		return printError(messages, err)
	}
	return printError(messages, cmp.Or(root.ExecuteContext(ctx), out.writeError()))
}

// newCommand makes the command that the words belong to: torchrun's, which
// launches a program, or gpurun's own. A worker, of which there are many, gets no other
// commands beside its own, and neither does a process whose command has been named.
func newCommand(a *program.Invocation) *cobra.Command {
	if torchrun.Named(a.Args[0]) {
		return newLaunchCommand(a)
	}
	if len(a.Args) == 2 && a.Args[1] == session.WorkerCommand {
		root := &cobra.Command{Use: "gpurun", SilenceErrors: true, SilenceUsage: true}
		root.AddCommand(newWorkerCommand())
		return root
	}
	if isCompletion(a.Args) {
		root := newRootCommand(a)
		addCompletions(root, a.Args[2:])
		return root
	}
	own := pflag.NewFlagSet("gpurun", pflag.ContinueOnError)
	flags.AddLauncher(own)
	flags.AddCommand(own)
	line, err := torchrun.New().Split(a.Args[1:], own)
	var unknown *torchrun.UnknownFlagError
	switch {
	case errors.As(err, &unknown):
		root := newRootCommand(a)
		root.SetFlagErrorFunc(flagErrorIn(unknown.Word)) // it suggests a flag
		return root
	case err != nil || saysProgram(line):
		return newLaunchCommand(a)
	case len(line.Words) == 0:
		return newRootCommand(a)
	}
	root := newRootWith(a, named(line.Words[0], commands(a)))
	if launches(root, line.Words[0]) {
		return newLaunchCommand(a)
	}
	return root
}

// boundedWriter is a standard stream whose reader may stall, without keeping the process from ending.
func boundedWriter(ctx context.Context, w io.Writer) io.Writer {
	if file, ok := w.(*os.File); ok {
		return output.NewBoundedWriter(ctx, file)
	}
	return w
}

// warnOfMisspelledVariables names variables of the environment that look like settings and are none.
func warnOfMisspelledVariables(stderr io.Writer) error {
	warnings, err := settings.MisspelledVariables(os.Environ())
	for _, warning := range warnings {
		fmt.Fprintf(stderr, "gpurun: warning: %s\n", warning)
	}
	return err
}

// errorKeeper keeps the first error of what cobra prints, which cobra ignores.
type errorKeeper struct {
	w   io.Writer
	err error
}

func (k *errorKeeper) Write(p []byte) (int, error) {
	n, err := k.w.Write(p)
	k.err = cmp.Or(k.err, err)
	return n, err
}

// Fd tells whether it is a terminal.
func (k *errorKeeper) Fd() uintptr { return terminal.Fd(k.w) }

// writeError is the first error, or nil.
func (k *errorKeeper) writeError() error {
	if k.err == nil {
		return nil
	}
	return &exit.EnvironmentError{Err: fmt.Errorf("writing to standard output: %w", k.err)}
}

// printError prints an error that has not been printed yet, and returns its exit code.
func printError(w io.Writer, err error) int {
	if text := exit.Describe(err); text != "" {
		fmt.Fprintf(w, "gpurun: %s\n", text)
	}
	return exit.Code(err)
}
