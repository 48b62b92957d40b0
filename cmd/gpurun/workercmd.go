package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/machine"
	"gpurun/kernels/ptx"
	"gpurun/rendezvous/transport"
	"gpurun/worker"
	"gpurun/worker/agent"
	"gpurun/worker/phases"
	"gpurun/worker/report"
)

// assignmentVariable names the environment variable by which the launcher tells
// a worker what to do: an assignment as JSON.
const assignmentVariable = "GPURUN_ASSIGNMENT"

// assignment is one worker's part.
type assignment struct {
	Job       worker.Job `json:"job"`
	Rank      int        `json:"rank"`
	LocalRank int        `json:"local_rank"`
	WorldSize int        `json:"world_size"`
	// LocalWorldSize is the number of ranks on this machine.
	LocalWorldSize int    `json:"local_world_size"`
	Target         string `json:"target"` // of the rendezvous
	Token          string `json:"token"`
	// TLS is what the rendezvous of several machines wants, if it wants TLS.
	TLS      *transport.TLSFiles `json:"tls,omitempty"`
	Backend  string              `json:"backend"`
	Ordinal  int                 `json:"ordinal"`
	SimSeed  uint64              `json:"sim_seed,omitempty"`
	LogLevel string              `json:"log_level"`
	Timing   bool                `json:"timing,omitempty"`
}

// filesDescriptor is where the launcher leaves the socket for descriptors.
const filesDescriptor = 3

// workerCommand is the name of the command that the launcher runs once per rank.
const workerCommand = "worker"

// newWorkerCommand makes the command by that name.
func newWorkerCommand() *cobra.Command {
	return &cobra.Command{
		Use:    workerCommand,
		Short:  "Be one rank of a collective (gpurun starts this itself)",
		Hidden: true,
		Args:   noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			defer endBySignal(cmd.Context())()
			part, err := takeAssignment()
			if err != nil {
				return err
			}
			reports, err := report.Open()
			if err != nil {
				return &exit.UsageError{Err: err}
			}
			defer reports.Close()
			if err := work(cmd, part, reports); err != nil {
				return &exit.Error{Code: failed(reports, err)}
			}
			return nil
		},
	}
}

// failed tells the launcher why the worker gives up, and returns its exit code.
func failed(reports *report.Writer, err error) int {
	failure := worker.Explain(err)
	if reports.Fail(failure) != nil {
		return exit.WorkerDied // the launcher is gone
	}
	return exit.CodeOfClass(failure.Class)
}

// endBySignal makes this process end at once when a signal ends ctx: the
// launcher does everything that is to be done then. Handing the signals back
// to the kernel instead would lose one that arrives meanwhile. The function
// that it returns undoes it.
func endBySignal(ctx context.Context) (undo func() bool) {
	return context.AfterFunc(ctx, func() {
		var signalled agent.Signalled
		if errors.As(context.Cause(ctx), &signalled) {
			os.Exit(exit.Signalled + int(signalled.Signal))
		}
	})
}

// takeAssignment reads the variable and removes it, so that no child sees it.
func takeAssignment() (assignment, error) {
	text, ok := os.LookupEnv(assignmentVariable)
	if !ok {
		return assignment{}, exit.Usagef("%s is not set: gpurun starts its workers itself", assignmentVariable)
	}
	var part assignment
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&part); err != nil {
		return part, exit.Usagef("reading %s: %w", assignmentVariable, err)
	}
	return part, os.Unsetenv(assignmentVariable)
}

// work runs the rank with what the launcher left for it.
func work(cmd *cobra.Command, part assignment, reports *report.Writer) error {
	level, err := zap.ParseAtomicLevel(part.LogLevel)
	if err != nil {
		return err
	}
	backend, err := machine.Open(part.Backend, part.WorldSize, part.SimSeed)
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
	var noted *phases.Recorder
	if part.Timing {
		noted = phases.NewRecorder()
	}
	return worker.Run(cmd.Context(), worker.Options{
		Job: part.Job, Rank: part.Rank, LocalRank: part.LocalRank, WorldSize: part.WorldSize, LocalWorldSize: part.LocalWorldSize,
		Target: part.Target, Token: part.Token, TLS: tls,
		Backend: backend, Ordinal: part.Ordinal, Files: files,
		Source: ptx.Source, Libraries: machine.Libraries(part.Backend), Reports: reports,
		Abort:  func(err error) { os.Exit(failed(reports, err)) },
		Logger: zap.New(reports.Core(level)),
		Phases: noted,
	})
}

// tls is how a worker meets the ranks of other machines: with its node's files.
func (a assignment) tls() (*transport.TLS, error) {
	if a.TLS == nil {
		return nil, nil
	}
	t, err := transport.LoadTLS(*a.TLS)
	if err != nil {
		return nil, fmt.Errorf("TLS between nodes: %w", err)
	}
	return t, nil
}
