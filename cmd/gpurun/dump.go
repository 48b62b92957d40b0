package main

import (
	"strconv"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/program"
	"gpurun/worker/process/dump/request"
)

const dumpLong = `dump shows what the workers of a running job are doing, and ends nothing: the Python
stacks of their threads, the last collectives of PyTorch's flight recorder, their GPUs. PID
is the process ID of a gpurun on this machine, or of any of its workers. If a job runs on
several machines, the page has the workers of all of them. For a collective, the page has the
step of each rank, and where its kernels are. gpurun itself prints the page as well, as it
does when it receives SIGUSR1.

Exit codes: 0 the page was printed; 2 usage; 3 there is no such job, or it did not answer.`

const dumpExample = `  gpurun dump 4711
  gpurun dump $(pgrep -o gpurun)`

func newDumpCommand(a *program.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "dump PID",
		Short:   "Show what the workers of a running job are doing",
		Long:    dumpLong,
		Example: dumpExample,
	}
	takeLauncherFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, words []string) error {
		if len(words) != 1 {
			return usageError(exit.Usagef("dump takes one process ID, and got %d words", len(words)), cmd)
		}
		pid, err := strconv.Atoi(words[0])
		if err != nil || pid < 1 {
			return usageError(exit.Usagef("dump: %q is not a process ID", words[0]), cmd)
		}
		agent, err := request.FindAgent(pid)
		if err != nil {
			return &exit.EnvironmentError{Err: err}
		}
		page, err := request.Ask(cmd.Context(), agent)
		if err != nil {
			return &exit.EnvironmentError{Err: err}
		}
		_, err = a.Out.Write(page)
		return err
	}
	return cmd
}
