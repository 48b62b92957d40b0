// Package launch runs any command in several processes, as torchrun does: it decides by the
// command line how many there are, where they run and how nodes meet, and passes on how
// they ended.
package launch

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"go.uber.org/zap"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/host"
	"gpurun/cmd/gpurun/node"
	"gpurun/cmd/gpurun/outcome"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/torchrun"
	"gpurun/cudart/nvml"
	"gpurun/rendezvous/elastic"
	"gpurun/worker/process/agent"
	"gpurun/worker/process/argv"
	"gpurun/worker/process/crash"
	"gpurun/worker/process/guard"
	"gpurun/worker/process/launcher"
	"gpurun/worker/process/torchenv"
	"gpurun/worker/process/trainjob"
)

// command is a command that is about to run in every process.
type command struct {
	config  settings.Launch
	options *torchrun.Options
	argv    []string
	workers int
	cpus    [][]int // by local rank; nil for all
	log     *zap.Logger
	// meeting is how the agents of several machines meet; nil for one.
	meeting *elastic.Config
	unused  []string // sentences about settings without effect
	// task is the place of this gpurun's process on a node that it shares with others;
	// nil: it is alone.
	task   *torchenv.Task
	remark string // printed before the run; may be empty
	// plain is set for torchrun by name: lines have no prefix unless one is asked
	// for.
	plain bool
}

// Run runs a program in every process, as torchrun does.
func Run(ctx context.Context, a *program.Invocation, w Words) error {
	p, err := plan(a, w)
	if err != nil {
		return err
	}
	if a.Lifeline == nil {
		if err := crash.Check(); err != nil { // before the folder is made, which needs files
			return &exit.EnvironmentError{Err: err}
		}
		remove, err := lendScratch()
		if err != nil {
			return err
		}
		defer remove() // the agent has complained if it could not
	}
	return a.Guarded(func() error { return p.run(ctx, a) })
}

// temporary reports whether the files of the job are removed when it ends.
func (p *command) temporary() bool {
	o := p.options
	return o.LogDir == "" && !o.Redirects.Any() && !o.Tee.Any() &&
		len(o.DuplicateStdoutFilters)+len(o.DuplicateStderrFilters) == 0
}

// plan checks everything that can be checked beforehand.
func plan(a *program.Invocation, w Words) (*command, error) {
	options := w.Options
	p := &command{options: options, plain: torchrun.Named(a.Args[0])}
	s, err := w.take(p.plain)
	if err != nil {
		return nil, err
	}
	p.remark, p.task = s.remark, node.TaskOf(s.step)
	if err := w.refuse(); err != nil {
		return nil, err
	}
	if p.config, err = settings.ReadLaunch(s.sources); err != nil {
		return nil, err
	}
	a.UseLogFormat(p.config.LogFormat)
	if p.log, err = program.NewLogger(p.config.LogLevel, p.config.LogFormat, a.Err); err != nil {
		return nil, err
	}
	if p.argv, err = argvOf(options, p.plain); err != nil {
		return nil, err
	}
	if p.workers, err = processesOf(options.NProcPerNode); err != nil {
		return nil, err
	}
	if p.cpus, err = bindingOf(options, p.localWorkers()); err != nil {
		return nil, err
	}
	if err := w.refuseMissingRanks(p.localWorkers()); err != nil {
		return nil, err
	}
	if options.Several() {
		p.meeting, err = p.meetingOf(s)
	} else { // files that cannot be read are an error without other nodes, too
		_, err = node.ReadCredentials(s.sources, p.config.Credentials, "")
	}
	return p, err
}

// localWorkers is the number of processes on this machine, those of other gpurun
// included.
func (p *command) localWorkers() int {
	if p.task != nil {
		return p.task.LocalWorldSize
	}
	return p.workers
}

// argvOf is what to execute: a script, a module or a program. Torchrun takes
// every bare word for a script.
func argvOf(o *torchrun.Options, plain bool) ([]string, error) {
	switch {
	case o.RunPath:
		return argv.Script(o.Words)
	case o.Module:
		return argv.Module(o.Words)
	case o.NoPython, o.Dashed && !plain:
		return argv.Program(o.Words)
	case plain:
		return argv.Script(o.Words)
	}
	return argv.Guess(o.Words)
}

func (p *command) run(ctx context.Context, a *program.Invocation) error {
	for _, note := range append(p.options.Unused(), p.unused...) {
		p.log.Debug(note)
	}
	if p.remark != "" {
		p.log.Warn(p.remark)
	}
	job := launcher.Job{
		Agent: agent.Spec{
			Argv:        p.argv,
			CPUs:        p.cpus,
			Stdin:       a.In,
			Grace:       time.Duration(p.config.Grace),
			SignalGrace: time.Duration(p.config.SignalGrace),
			Signals:     a.Signals,
			Handled:     append([]syscall.Signal{}, p.options.SignalsToHandle...),
			Stdout:      a.Unchanged(),
			Stderr:      a.Err,
			Lifeline:    a.Lifeline,
			Logger:      p.log,
		},
		Torch:        p.torchJob(),
		CheckMachine: p.machineCheck(a.Err),
		Fault:        host.WatchGPUs(nvml.DefaultPaths()...).Fault,
	}
	if err := node.ForgetToken(); err != nil {
		return err
	}
	scratch, err := takeScratch()
	if err != nil {
		return err
	}
	defer os.RemoveAll(scratch) // the guard has complained if it could not
	job.Logs, job.Dumps = p.logs(scratch), p.dumps(scratch, a.Err)
	progress := trainjob.New(p.log)
	defer progress.Close()
	if progress != nil {
		job.Observer = progress
	}
	if !p.plain {
		job.Agent.Prefix = program.RankPrefix(p.workers)
	}
	if p.meeting == nil {
		result, err := launcher.Run(ctx, job)
		return p.ended(result, err, a.Err)
	}
	job.Torch.RunID = p.meeting.RunID
	p.meeting.Logger = p.log
	result, err := launcher.RunNodes(ctx, job, *p.meeting)
	return p.ended(result, err, a.Err)
}

// torchJob is the job as workers see it in their environment.
func (p *command) torchJob() torchenv.Job {
	o := p.options
	addr, port := o.Master()
	id := o.RdzvID
	if id == "" {
		// As with --standalone: programs that name files after the job get different names.
		id = rand.Text()
	}
	return torchenv.Job{
		Workers: p.workers, WorldSize: p.workers, GroupSize: 1, Role: o.Role, RunID: id,
		MasterAddr: addr, MasterPort: port, MaxRestarts: o.MaxRestarts, VirtualLocalRank: o.VirtualRank, Task: p.task,
	}
}

// prefixVariable has torchrun's template for what stands before lines of output.
const prefixVariable = "TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE"

// logs says where output goes. A torchrun that tees marks lines.
func (p *command) logs(scratch string) launcher.Logs {
	o := p.options
	l := launcher.Logs{
		Dir: o.LogDir, Redirects: o.Redirects.Of, Tee: o.Tee.Of, Shown: o.LocalRanksFilter.Has,
		StdoutFilters: o.DuplicateStdoutFilters, StderrFilters: o.DuplicateStderrFilters,
		Prefix: os.Getenv(prefixVariable),
	}
	if l.Prefix == "" && o.Tee.Any() {
		l.Prefix = launcher.DefaultPrefix
	}
	if p.temporary() {
		l.Scratch = filepath.Join(scratch, "logs")
	}
	return l
}

// ended says how a command ended and passes its exit code on.
func (p *command) ended(r *launcher.Result, err error, stderr io.Writer) error {
	elsewhere := new(launcher.OtherNodeError)
	if errors.As(err, &elsewhere) {
		err = &exit.Error{Code: p.codeOfCommand(elsewhere.Code), Err: err}
	}
	if apart := new(launcher.MeetingError); r == nil || elsewhere.Err != nil || r.First == nil && errors.As(err, &apart) {
		return lostNode(r, err) // of the round before there is nothing to say
	}
	explainFailures(stderr, p.argv, r.Failed, p.temporary(), p.config.LogFormat == "json")
	outcome.ExplainWorkers(stderr, r.Outcome)
	if errors.As(err, new(*launcher.UnfitError)) {
		return err
	}
	code := p.codeOfCommand(r.ExitCode())
	if errors.As(r.Cause, new(*agent.HangError)) {
		return &exit.Error{Code: exit.Timeout, Err: err}
	}
	if guard.Said(r.Cause) {
		return &exit.Error{Code: exit.Code(r.Cause), Err: err}
	}
	if p.meeting != nil && r.First == nil && r.Signal == 0 && r.Cause != nil && !errors.Is(r.Cause, guard.ErrGone) {
		code = exit.NodeLost // this node survives it
	}
	if code != 0 {
		return &exit.Error{Code: code, Err: err}
	}
	return err
}
