package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"time"

	"github.com/spf13/cobra"
	"go.uber.org/zap"

	"gpurun/cudart/driver"
	"gpurun/worker/agent"
)

// commandRun is a command that is about to run in every process.
type commandRun struct {
	config  config
	argv    []string
	workers int
	log     *zap.Logger
}

// launch runs words as a command in every process, as torchrun does.
func launch(cmd *cobra.Command, a *app, words []string) error {
	p, err := planCommand(cmd, a, words)
	if err != nil {
		return err
	}
	return a.guarded(func() error { return p.run(cmd.Context(), a) })
}

// planCommand checks everything that can be checked beforehand.
func planCommand(cmd *cobra.Command, a *app, words []string) (*commandRun, error) {
	for _, name := range []string{"device", "require-gpu", "oversubscribe"} {
		if cmd.Flags().Changed(name) {
			return nil, hinted(usagef("--%s is for gpurun's own collectives, and %s is a command", name, words[0]), cmd)
		}
	}
	settings, err := loadSettings(cmd)
	if err != nil {
		return nil, err
	}
	p := &commandRun{}
	if p.config, err = settings.config(); err != nil {
		return nil, err
	}
	if err := refuseNodes(settings, p.config, words[0]); err != nil {
		return nil, hinted(err, cmd)
	}
	if p.log, err = newLogger(p.config, a.err); err != nil {
		return nil, err
	}
	if p.argv, err = agent.Command(words); err != nil {
		return nil, err
	}
	p.workers, err = p.config.NProcPerNode.forCommand()
	return p, err
}

func (p *commandRun) run(ctx context.Context, a *app) error {
	port, err := agent.FreePort()
	if err != nil {
		return err
	}
	outcome, err := agent.Run(ctx, agent.Spec{
		Argv:    p.argv,
		Workers: p.workers,
		Env: agent.TorchEnv(agent.TorchJob{
			Workers: p.workers, WorldSize: p.workers, GroupSize: 1, Role: "default", RunID: "none",
			MasterAddr: "127.0.0.1", MasterPort: port,
		}, p.log),
		Stdin:    a.in,
		Grace:    time.Duration(p.config.Grace),
		Signals:  a.signals,
		Stdout:   a.out,
		Stderr:   a.err,
		Prefix:   rankPrefix(p.workers),
		Lifeline: a.lifeline,
		Logger:   p.log,
	})
	return commandEnd(outcome, err, a.err)
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
