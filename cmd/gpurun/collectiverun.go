package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/machine"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
	"gpurun/kernels/collective"
	"gpurun/worker"
	"gpurun/worker/agent"
	"gpurun/worker/gate"
	"gpurun/worker/phases"
	"gpurun/worker/result"
)

// collectiveRun is a collective that is about to run.
type collectiveRun struct {
	what     *collective.Collective
	settings *settings.Sources
	config   settings.Config
	job      worker.Job
	machine  machine.Machine
	nodes    settings.Placement
	// problem is why this machine cannot take part in a job across machines; the other
	// nodes are told.
	problem error
	gate    gate.Plan // that the results are held against
	// leftOut says which of "all" algorithms do not run, and why; or is empty.
	leftOut string
	// remark is something else that is to be said before the run; or is empty.
	remark string
}

// notices are what is to be said before the run.
func (p *collectiveRun) notices() []string {
	var all []string
	if p.problem != nil {
		all = append(all, fmt.Sprintf("%v; the other nodes are to hear of it", p.problem))
	} else if p.machine.Notice != "" {
		all = append(all, p.machine.Notice)
	}
	if p.leftOut != "" {
		all = append(all, "--algo all leaves out "+p.leftOut)
	}
	if p.remark != "" {
		all = append(all, p.remark)
	}
	return all
}

// run prints the results as they come, and says how it ended.
func (p *collectiveRun) run(ctx context.Context, a *program.Invocation) error {
	progress := newProgress(a.Err)
	defer progress.clear()
	renderer, err := result.NewRenderer(result.Format(p.config.Output), progress.beside(a.Out))
	if err != nil {
		return err
	}
	if p.nodes.Rank > 0 { // node 0 prints for all
		renderer = silent{}
	}
	report, err := p.measure(ctx, a, renderer, progress)
	if p.nodes.Rank > 0 {
		return err
	}
	sayNote(progress.beside(a.Err), report)
	return endedWith(a, err, publish(a, "gpurun "+p.what.Name, p.config, report))
}

// measure opens the rendezvous, starts a worker for each rank, and gathers their
// results.
func (p *collectiveRun) measure(ctx context.Context, a *program.Invocation, renderer result.Renderer, progress *progress) (result.Report, error) {
	stderr := progress.beside(a.Err)
	for _, notice := range p.notices() {
		fmt.Fprintf(stderr, "gpurun: %s\n", notice)
	}
	log, err := program.NewLogger(p.config.LogLevel, p.config.LogFormat, stderr)
	if err != nil {
		return result.Report{}, err
	}
	ctx, fail := context.WithCancelCause(ctx)
	defer fail(nil)
	g := &gatherer{
		report: result.Report{
			Schema: result.Schema, Version: program.Version(), Command: a.Args, WorldSize: p.world(),
		},
		renderer: renderer, progress: progress, log: log, fail: fail, first: p.firstRank(), phases: map[int][]phases.Span{},
	}
	if p.config.Explain {
		g.explain = explanation{w: stderr}
	}
	outcome, err := p.startAndWatch(ctx, a, stderr, g)
	if outcome == nil {
		outcome = &agent.Outcome{} // no worker was started
	}
	if p.config.Timing {
		g.note(phases.FromContext(ctx), outcome)
	}
	err = p.finish(g, outcome, err, stderr)
	return g.report, err
}

// startAndWatch runs the workers, and what they need, to the end.
func (p *collectiveRun) startAndWatch(ctx context.Context, a *program.Invocation, stderr io.Writer, g *gatherer) (_ *agent.Outcome, err error) {
	where, err := p.openMeeting(ctx, g)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, where.close()) }()
	sockets, err := newSockets(p.machine.Ranks, g.fail)
	if err != nil {
		return nil, err
	}
	defer sockets.close()
	argv, err := program.Self(workerCommand)
	if err != nil {
		return nil, err
	}
	assignments, err := p.assign(where)
	if err != nil {
		return nil, err
	}
	phases.FromContext(ctx).Begin(phases.Fork)
	outcome, err := agent.Run(ctx, agent.Spec{
		Argv:       argv,
		Workers:    p.machine.Ranks,
		FirstRank:  p.firstRank(),
		Env:        func(localRank int) []string { return []string{assignments[localRank]} },
		ExtraFiles: sockets.worker,
		Reports:    g.take,
		Failed:     where.tell,
		Silence:    p.silence(),
		Grace:      time.Duration(p.config.Grace),
		Signals:    a.Signals,
		// stdout is for results alone.
		Stdout: stderr, Stderr: stderr,
		Prefix:   program.RankPrefix(p.machine.Ranks),
		Lifeline: a.Lifeline,
		Logger:   g.log,
	})
	phases.FromContext(ctx).Begin(phases.End)
	return outcome, where.conclude(ctx, g, outcome, err, stderr)
}

// silence is after how long a worker that says nothing counts as hung. It is
// the last resort: a peer or a kernel that waits gives up earlier and knows
// more. A worker that verifies or times large sizes is rightly silent for a
// while.
func (p *collectiveRun) silence() time.Duration {
	return max(4*p.job.Timeout, time.Minute)
}

// assign writes every worker's assignment as an environment variable.
func (p *collectiveRun) assign(where *meeting) ([]string, error) {
	variables := make([]string, p.machine.Ranks)
	for localRank := range variables {
		rank := p.firstRank() + localRank
		text, err := json.Marshal(assignment{
			Job: p.job, Rank: rank, LocalRank: localRank, WorldSize: p.world(), LocalWorldSize: p.machine.Ranks,
			Target: where.target, Token: where.token, TLS: p.nodes.Trust.TLS.Files(),
			Backend: p.machine.Backend, Ordinal: p.machine.Ordinal(p.nodes.LocalRank(localRank)), SimSeed: p.config.SimSeed,
			LogLevel: p.config.LogLevel, Timing: p.config.Timing,
		})
		if err != nil {
			return nil, fmt.Errorf("writing the assignment of rank %d: %w", rank, err)
		}
		variables[localRank] = assignmentVariable + "=" + string(text)
	}
	return variables, nil
}

// failure says why a run ended early, if it did, and its exit code. What another
// node says explains what happened here.
func failure(g *gatherer, o *agent.Outcome, runErr error) (reason string, code int) {
	var elsewhere *elsewhereError
	switch {
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
func (p *collectiveRun) finish(g *gatherer, o *agent.Outcome, runErr error, stderr io.Writer) error {
	g.mu.Lock() // a worker that could not be killed may still report
	defer g.mu.Unlock()
	r := &g.report
	r.Failure, r.ExitCode = failure(g, o, runErr)
	if p.nodes.Rank == 0 && (r.ExitCode == exit.OK || r.ExitCode == exit.WrongData) {
		judge(p.gate, r)
	}
	r.Passed = r.ExitCode == exit.OK
	err := g.renderer.End(*r)
	if p.config.OutputFile != "" && p.nodes.Rank == 0 {
		err = errors.Join(err, result.WriteFile(p.config.OutputFile, *r))
	}
	explainOutcome(stderr, o)
	for _, x := range r.Results {
		for _, sentence := range x.Complaints() {
			fmt.Fprintf(stderr, "gpurun: %s\n", sentence)
		}
	}
	explainSpeed(stderr, *r)
	if r.Timing != nil {
		err = errors.Join(err, r.Timing.Print(stderr))
	}
	if err = errors.Join(runErr, err); err != nil && r.Passed {
		return err
	}
	if r.Passed {
		return nil
	}
	return &exit.Error{Code: r.ExitCode, Err: err, Said: strings.Join(r.Reasons(), "\n")}
}
