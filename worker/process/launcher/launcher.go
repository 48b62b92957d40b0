// Package launcher runs a command in every process of a node as torchrun does:
// with its environment, its folders of logs and error files, and again after a
// failure, as often as asked.
//
// Every attempt is one [agent.Run]. The first failure ends it for all workers; the
// next begins with new folders, a new port for the workers' store, and
// TORCHELASTIC_RESTART_COUNT one higher. A signal ends the job for good.
package launcher

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"go.uber.org/zap"

	"gpurun/worker/process/agent"
	"gpurun/worker/process/errorfile"
	"gpurun/worker/process/torchenv"
)

// Job is what to run.
type Job struct {
	// Agent says how. Run fills in Env, Output and ErrorFile, and Prefix where Logs
	// has one.
	Agent agent.Spec
	// Torch is what the workers are told. Run counts RestartCount. A MasterPort of 0
	// becomes a free port, another one in every attempt.
	Torch torchenv.Job
	Logs  Logs
	// CheckMachine, when set, says before each attempt why this machine is not fit for it. With other nodes it is called
	// before this one joins them, and again before each further round.
	CheckMachine func(context.Context) error
	// Fault, when set, says after a failure or a hang of workers how this machine is to blame for it. It returns in
	// bounded time, and may be called several times and concurrently. Its error ends the job for this machine.
	Fault func() error
	// Observer, when set, is told how attempts go.
	Observer Observer
	// Dumps, when set, has the job say what its workers are doing.
	Dumps *Dumps

	dumper *dumper
}

// Observer is told how the attempts of this node go. Its methods do not wait.
type Observer interface {
	// Begin says that workers are about to start. It returns more variables for them.
	Begin(job torchenv.Job) (env []string)
	// Failed is as in agent.Spec.
	Failed(f *agent.Failure)
	// End says how the attempt has ended; the outcome is nil if no worker was started.
	End(outcome *agent.Outcome)
}

// Failure is a worker's failure, and what it recorded about it, or nil.
type Failure struct {
	*agent.Failure
	Record *errorfile.Record
}

// Result is how a job ended.
type Result struct {
	// Outcome is that of the last attempt.
	*agent.Outcome
	// Failed are the workers that failed by themselves, in the order of time.
	Failed []Failure
	// Restarts is how often all workers were started again.
	Restarts int
}

// Run runs the job to its end. Errors are as those of agent.Run; the Result is nil
// when nothing was started.
func Run(ctx context.Context, job Job) (*Result, error) {
	if err := job.check(); err != nil {
		return nil, err
	}
	folders, err := job.Logs.create(job.Torch.RunID)
	if err != nil {
		return nil, err
	}
	if job.Logs.Scratch == "" {
		job.Agent.Logger.Info("logs of the workers are in " + folders.root)
	}
	if job.dumper, err = job.newDumper(); err != nil {
		return nil, errors.Join(err, folders.remove())
	}
	result, err := job.attempts(ctx, folders)
	return result, errors.Join(err, job.dumper.close(), folders.remove())
}

// check checks the job and fills in defaults.
func (j *Job) check() error {
	if j.Agent.Logger == nil {
		j.Agent.Logger = zap.NewNop()
	}
	visible := os.Getenv("CUDA_VISIBLE_DEVICES")
	gpus, workers := strings.Count(visible, ",")+1, j.Torch.Workers
	if t := j.Torch.Task; t != nil && gpus > 1 { // one is the worker's own
		workers = t.LocalWorldSize
	}
	if j.Torch.VirtualLocalRank && visible != "" && gpus < workers {
		return fmt.Errorf("giving every worker a GPU: CUDA_VISIBLE_DEVICES=%s is %d, and there are %d workers", visible, gpus,
			workers)
	}
	return nil
}

// attempts runs the workers until they succeed, or until no restart is left.
func (j *Job) attempts(ctx context.Context, folders *folders) (*Result, error) {
	for restart := 0; ; restart++ {
		if err := j.fit(ctx); err != nil {
			return nil, err
		}
		outcome, err := j.attempt(ctx, folders, restart)
		if outcome == nil {
			return nil, err
		}
		result := &Result{Outcome: outcome, Restarts: restart, Failed: recorded(outcome.Failures)}
		left := j.Torch.MaxRestarts - restart
		err = errors.Join(err, j.fault(outcome))
		if err != nil || outcome.First == nil || outcome.Cause != nil || ctx.Err() != nil || left <= 0 {
			return result, errors.Join(err, forwardFailure(outcome.First))
		}
		j.Agent.Logger.Warn(fmt.Sprintf("%v; starting all workers again, %d of %d restarts left after this one",
			outcome.First, left-1, j.Torch.MaxRestarts))
	}
}

// attempt runs the workers once, with a store of their own.
func (j *Job) attempt(ctx context.Context, folders *folders, restart int) (_ *agent.Outcome, err error) {
	store, err := serveStore(context.WithoutCancel(ctx), j.Torch.MasterAddr, j.Torch.MasterPort, j.Agent.Logger)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, store.close()) }() // workers that lost the store would retry
	j.dumper.watch(store.server)
	torch := j.Torch
	torch.RestartCount, torch.MasterPort, torch.AgentStore = restart, store.port, true
	return j.workers(ctx, folders, restart, torch, nil)
}

// workers runs the workers of the attempt with that number. nodes makes the dumps of several machines.
func (j *Job) workers(ctx context.Context, folders *folders, attempt int, torch torchenv.Job,
	nodes *nodeDumps,
) (_ *agent.Outcome, err error) {
	folder, err := folders.attempt(attempt, torch.FirstLocalRank(), torch.Workers)
	if err != nil {
		return nil, err
	}
	dumps, err := j.dumper.begin(torch, folders.kept(folder), nodes)
	if err != nil {
		return nil, err
	}
	files, err := j.Logs.open(folder)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, files.close()) }()
	spec := j.Agent
	spec.Workers, spec.FirstRank, spec.FirstLocalRank = torch.Workers, torch.FirstRank, torch.FirstLocalRank()
	environment := j.environment(folder, torch, attempt == 0)
	spec.Env = func(localRank int) []string { return append(environment(localRank), dumps.variables(localRank)...) }
	spec.Dumps = dumps.spec()
	spec.ErrorFile = folder.errorFile
	spec.Output = files.output
	if j.Logs.Prefix != "" {
		spec.Prefix = func(rank int) string {
			return j.Logs.prefix(torch.Role, rank-spec.FirstRank+spec.FirstLocalRank, rank)
		}
	}
	if spec.Prefix != nil {
		files.prefix = func(localRank int) string { return spec.Prefix(spec.Rank(localRank)) }
	}
	defer dumps.sayLate()
	return j.observed(spec, torch, func(spec agent.Spec) (*agent.Outcome, error) { return agent.Run(ctx, spec) })
}

// observed runs an attempt, and tells the observer.
func (j *Job) observed(spec agent.Spec, torch torchenv.Job,
	run func(agent.Spec) (*agent.Outcome, error),
) (*agent.Outcome, error) {
	if j.Observer == nil {
		return run(spec)
	}
	more, env, failed := j.Observer.Begin(torch), spec.Env, spec.Failed
	spec.Env = func(localRank int) []string { return append(env(localRank), more...) }
	spec.Failed = func(f *agent.Failure) {
		j.Observer.Failed(f)
		if failed != nil {
			failed(f)
		}
	}
	outcome, err := run(spec)
	j.Observer.End(outcome)
	return outcome, err
}

// environment returns each worker's environment variables. Only the first attempt logs
// notes about them.
func (j *Job) environment(folder attemptFolder, torch torchenv.Job, first bool) func(localRank int) []string {
	logger := j.Agent.Logger
	if !first {
		logger = zap.NewNop()
	}
	common := torchenv.Variables(torch, logger)
	return func(localRank int) []string {
		return append(common(localRank), errorfile.Variable+"="+folder.errorFile(localRank))
	}
}

// recorded reads the error files that workers wrote. Where one cannot be read, the record
// is the reason.
func recorded(failures []*agent.Failure) []Failure {
	var all []Failure
	for _, f := range failures {
		failure := Failure{Failure: f}
		if f.ErrorFile != "" {
			record, err := errorfile.Read(f.ErrorFile)
			if err != nil {
				record = &errorfile.Record{Message: err.Error()}
			}
			failure.Record = record
		}
		all = append(all, failure)
	}
	return all
}

// forwardFailure writes why the job failed to the error file of the launcher that started
// this one, if there is one.
func forwardFailure(first *agent.Failure) error {
	to := os.Getenv(errorfile.Variable)
	if to == "" || first == nil {
		return nil
	}
	code := first.ExitCode
	switch {
	case first.Ended:
		code = 1
	case first.Signal != 0:
		code = -int(first.Signal)
	}
	if first.ErrorFile != "" {
		return errorfile.Forward(first.ErrorFile, to, code)
	}
	return errorfile.Write(to, errorfile.Record{Message: first.Error(), Time: first.Time}, code)
}
