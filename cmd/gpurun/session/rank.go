package session

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"go.uber.org/zap"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/host"
	"gpurun/kernels/ptx"
	"gpurun/worker"
	"gpurun/worker/process/report"
	"gpurun/worker/rank"
	"gpurun/worker/result/phases"
)

// filesDescriptor is where the agent leaves the socket for descriptors.
const filesDescriptor = 3

// WorkerCommand is the name of the command that a run starts once per rank. It is to call
// Work.
const WorkerCommand = "worker"

// Work makes this process the rank that a run has assigned to it. quit ends the process at
// once, with an exit code.
func Work(ctx context.Context, quit func(code int)) error {
	part, err := takeAssignment()
	if err != nil {
		return err
	}
	reports, err := report.Open()
	if err != nil {
		return &exit.UsageError{Err: err}
	}
	defer reports.Close()
	if err := runRank(ctx, part, reports, quit); err != nil {
		return &exit.Error{Code: failed(reports, err)}
	}
	return nil
}

// runRank runs the rank with what the agent left for it.
func runRank(ctx context.Context, part assignment, reports *report.Writer, quit func(code int)) error {
	level, err := zap.ParseAtomicLevel(part.LogLevel)
	if err != nil {
		return err
	}
	backend, err := host.Open(part.Backend, part.WorldSize, part.Sim)
	if err != nil {
		return err
	}
	tls, err := part.tls()
	if err != nil {
		return err
	}
	files := os.NewFile(filesDescriptor, "descriptor socket")
	if files == nil {
		return fmt.Errorf("descriptor %d is not open: gpurun starts its workers itself", filesDescriptor)
	}
	if part.KernelFiles {
		if part.Job.KernelFiles, err = readKernelFiles(); err != nil {
			return err
		}
	}
	var noted *phases.Recorder
	if part.Timing {
		noted = phases.NewRecorder()
	}
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGUSR1) // of which the agent's dumps tell; until the end: else it would kill the process
	return worker.Run(ctx, rank.Options{
		Job: part.Job, Rank: part.Rank, LocalRank: part.LocalRank, WorldSize: part.WorldSize,
		LocalWorldSize: part.LocalWorldSize,
		Target:         part.Target, Token: part.Token, TLS: tls,
		Backend: backend, Ordinal: part.Ordinal, Files: files,
		Source: ptx.Source, Libraries: host.Libraries(part.Backend), Reports: reports,
		Abort:  func(err error) { quit(failed(reports, err)) },
		Logger: zap.New(reports.Core(level)),
		Phases: noted,
		Asked:  asked,
	})
}

// failed sends the worker's error to the agent, and returns the exit code.
func failed(reports *report.Writer, err error) int {
	failure := worker.Explain(err)
	if reports.Fail(failure) != nil {
		return exit.WorkerDied // the agent is gone
	}
	return exit.CodeOfClass(failure.Class)
}
