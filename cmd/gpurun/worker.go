package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/session"
	"gpurun/worker/process/signals"
)

// newWorkerCommand makes the command by that name.
func newWorkerCommand() *cobra.Command {
	return &cobra.Command{
		Use:    session.WorkerCommand,
		Short:  "Run one rank of a collective (started by gpurun itself)",
		Hidden: true,
		Args:   noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			defer endBySignal(cmd.Context())()
			return session.Work(cmd.Context(), os.Exit)
		},
	}
}

// endBySignal makes this process end at once when a signal ends ctx: the
// agent does everything that is to be done then. Handing the signals back
// to the kernel instead would lose one that arrives meanwhile. The function
// that it returns undoes it.
func endBySignal(ctx context.Context) (undo func() bool) {
	return context.AfterFunc(ctx, func() {
		var signaled signals.Received
		if errors.As(context.Cause(ctx), &signaled) {
			os.Exit(exit.Signaled + int(signaled.Signal))
		}
	})
}
