// Package session runs a job of built-in kernels on this node: it meets the other nodes, if
// there are any, starts a worker for each rank, gathers what they report, and says how it
// ended.
package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"go.uber.org/zap"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/host"
	"gpurun/cmd/gpurun/node"
	"gpurun/cmd/gpurun/outcome"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
	"gpurun/worker/process/agent"
	"gpurun/worker/process/launcher"
	"gpurun/worker/result"
	"gpurun/worker/result/gate"
	"gpurun/worker/result/phases"
	"gpurun/worker/workload"
)

// Run is a job of built-in kernels that is about to run on this node.
type Run struct {
	Config settings.Config
	Job    workload.Job
	Host   host.Host
	Node   node.Node
	// Problem is why this machine cannot take part in a job on several machines; this node sends it to the others.
	Problem error
	Gate    gate.Plan // that the results are held against
	// LeftOut says which of "all" algorithms do not run, and why; or is empty.
	LeftOut string
	// Remark is a further notice to print before the run; or is empty.
	Remark string
}

// Show is what a command makes of a run's results.
type Show struct {
	Title string // for CI systems
	// Renderer prints the results as they come.
	Renderer func(stdout io.Writer) (result.Renderer, error)
	// Then is called when they are there, with how the run ended; nil: nothing is left to do.
	Then func(r result.Report, ended error) error
}

// World is the number of ranks on all machines.
func (p *Run) World() int { return p.Host.Ranks * max(p.Node.Count, 1) }

// firstRank is this machine's first rank.
func (p *Run) firstRank() int { return p.Host.Ranks * p.Node.Rank }

// Show shows the results as they come, writes the files that are asked for, and returns how
// gpurun ends.
func (p *Run) Show(ctx context.Context, a *program.Invocation, show Show) error {
	progress := NewProgress(a.Err)
	defer progress.Clear()
	if p.Node.Rank > 0 { // node 0 prints and writes for all
		_, err := p.Measure(ctx, a, nil, progress)
		return err
	}
	renderer, err := show.Renderer(progress.Beside(a.Out))
	if err != nil {
		return err
	}
	report, ended := p.Measure(ctx, a, renderer, progress)
	progress.Clear()
	var unwritten error
	if show.Then != nil {
		unwritten = show.Then(report, ended)
	}
	return outcome.Conclude(a, show.Title, p.Config, report, ended, unwritten)
}

// notices are the notices to print before the run.
func (p *Run) notices() []string {
	var all []string
	if p.Problem != nil {
		all = append(all, fmt.Sprintf("%v; the other nodes are told", p.Problem))
	} else if p.Host.Notice != "" {
		all = append(all, p.Host.Notice)
	}
	if p.LeftOut != "" {
		all = append(all, "left out: "+p.LeftOut)
	}
	if p.Remark != "" {
		all = append(all, p.Remark)
	}
	return all
}

// printNotices prints the notices, as entries of a log that programs read.
func (p *Run) printNotices(stderr io.Writer, log *zap.Logger) {
	for _, notice := range p.notices() {
		if p.Config.LogFormat == "json" {
			log.Warn(notice)
		} else {
			fmt.Fprintf(stderr, "gpurun: %s\n", notice)
		}
	}
}

// Measure opens the rendezvous, starts a worker for each rank, and gathers their
// results. The error is how gpurun ends by the report. Without a renderer nothing is printed
// but what went wrong.
func (p *Run) Measure(ctx context.Context, a *program.Invocation, renderer result.Renderer,
	progress *Progress,
) (result.Report, error) {
	if renderer == nil {
		renderer = silent{}
	}
	stderr := progress.Beside(a.Err)
	log, err := program.NewLogger(p.Config.LogLevel, p.Config.LogFormat, stderr)
	if err != nil {
		return result.Report{}, err
	}
	p.printNotices(stderr, log)
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	g := &gatherer{
		report: result.Report{
			Schema: result.Schema, Version: program.Version(), Command: a.Args, WorldSize: p.World(),
		},
		renderer: renderer, progress: progress, log: log, fail: fail, first: p.firstRank(), phases: map[int][]phases.Span{},
	}
	if p.Config.Explain {
		g.explain = explanation{w: stderr}
	}
	outcome, err := p.startAndWatch(ctx, a, stderr, g)
	if outcome == nil {
		outcome = &agent.Outcome{} // no worker was started
	}
	if p.Config.Timing {
		g.note(phases.FromContext(ctx), outcome)
	}
	return p.finish(g, outcome, err, stderr)
}

// startAndWatch runs the workers, and what they need, to the end.
func (p *Run) startAndWatch(ctx context.Context, a *program.Invocation, stderr io.Writer,
	g *gatherer,
) (_ *agent.Outcome, err error) {
	where, err := p.openMeeting(ctx, g)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, where.close()) }()
	where.faults = p.watchFaults()
	defer where.faults.close()
	sockets, err := newSockets(p.Host.Ranks, g.fail)
	if err != nil {
		return nil, err
	}
	defer sockets.close()
	memory, err := writeKernelFiles(p.Job.KernelFiles)
	if err != nil {
		return nil, err
	}
	if memory != nil {
		defer memory.Close()
	}
	argv, err := program.Self(WorkerCommand)
	if err != nil {
		return nil, err
	}
	assignments, err := p.assign(where)
	if err != nil {
		return nil, err
	}
	dumps := newDumper(&g.doing, stderr, g.log)
	dumps.nodes = newNodeDumps(where.nodes, dumps.listener, p.Config.HangTimeout > 0, g.log)
	defer func() { err = errors.Join(err, dumps.close()) }()
	crashed := make(crashes, p.Host.Ranks)
	phases.FromContext(ctx).Begin(phases.Fork)
	outcome, err := agent.Run(ctx, agent.Spec{
		Argv:       argv,
		Workers:    p.Host.Ranks,
		FirstRank:  p.firstRank(),
		Env:        func(localRank int) []string { return []string{assignments[localRank]} },
		ExtraFiles: withKernelFiles(memory, sockets.worker),
		Output:     crashed.output,
		Reports:    g.take,
		Failed:     where.tell,
		Silence:    p.silence(),
		Dumps:      dumps.spec(p.Config.Launch),
		Grace:      time.Duration(p.Config.Grace),
		Signals:    a.Signals,
		// stdout is for results alone.
		Stdout: stderr, Stderr: stderr,
		Prefix:   program.RankPrefix(p.Host.Ranks),
		Lifeline: a.Lifeline,
		Logger:   g.log,
	})
	phases.FromContext(ctx).Begin(phases.End)
	dumps.nodes.takeOver(outcome)
	crashed.explain(outcome)
	err = errors.Join(err, where.faults.after(outcome, g.anyWrong()))
	return outcome, where.conclude(ctx, g, outcome, err, stderr)
}

// silence is the time after which a worker without a report counts as hung. The waits of peers and kernels expire
// earlier, and their reports are more precise. A worker that verifies or times large sizes may be silent for a while.
func (p *Run) silence() time.Duration {
	return max(4*p.Job.Timeout, time.Minute)
}

// failure says why a run ended early, if it did, and its exit code. A GPU that has failed explains everything else, and
// what another node says explains what happened here.
func failure(g *gatherer, o *agent.Outcome, runErr error) (reason string, code int) {
	var elsewhere *elsewhereError
	var unfit *launcher.UnfitError
	switch {
	case errors.As(runErr, &unfit):
		return unfit.Error(), exit.UnfitMachine
	case errors.As(errors.Join(runErr, o.Cause), &elsewhere):
		return elsewhere.Error(), elsewhere.code
	case o.First != nil:
		return o.First.Error(), exit.CodeOfWorkers(o)
	case o.Cause != nil:
		return o.Cause.Error(), exit.CodeOfWorkers(o)
	case runErr != nil:
		return runErr.Error(), exit.Code(runErr)
	case g.wrong() > 0:
		return "", exit.WrongData
	}
	return "", exit.CodeOfWorkers(o)
}

// finish completes the report, prints it, and says what went wrong.
func (p *Run) finish(g *gatherer, o *agent.Outcome, runErr error, stderr io.Writer) (result.Report, error) {
	g.mu.Lock() // a worker that could not be killed may still report
	defer g.mu.Unlock()
	r := &g.report
	r.Failure, r.ExitCode = failure(g, o, runErr)
	if p.Node.Rank == 0 && (r.ExitCode == exit.OK || r.ExitCode == exit.WrongData) {
		outcome.Judge(p.Gate, r)
	}
	r.Passed = r.ExitCode == exit.OK
	err := errors.Join(runErr, g.renderer.End(*r), outcome.Explain(stderr, o, *r))
	return *r, outcome.Of(*r, err)
}
