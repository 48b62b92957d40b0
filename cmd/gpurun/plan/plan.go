// Package plan decides what a command runs. It reads the settings, finds the host, and makes the
// ranks' job of both: which algorithms, types and sizes a word such as "all" stands for, and
// which thresholds and tuning tables apply. Tables are built in, or files of the user. What can
// be refused before a process is started is refused here.
package plan

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/host"
	"gpurun/cmd/gpurun/node"
	"gpurun/cmd/gpurun/session"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/slurm"
	"gpurun/configs"
	"gpurun/worker/result/phases"
	"gpurun/worker/workload"
)

// Options are what commands that run built-in kernels differ in. The zero value is that of
// gpurun COLLECTIVE.
type Options struct {
	Profiles [][]byte // TOML documents that change defaults
	// SimulatorProfiles change them further in the simulator, after its own profile.
	SimulatorProfiles [][]byte
	Override          func(*settings.Config) // sets what no source may change; may be nil
	ListGPUs          host.Lister            // nil: the driver is asked each time
	// Notify is told what the user should know before files that a kernel file names are opened; it may be nil.
	Notify func(string)
	// OneHost says why the ranks cannot be on several hosts; empty: they can.
	OneHost string
	Skew    []workload.Skew // the ranks that are late on purpose
	// Further: after the sweep, calls are verified for as long as the setting "minutes" says.
	Further bool
	// Trace: the setting "trace" asks for a timeline of a collective's call. Products always heed it.
	Trace bool
}

// lister is ListGPUs, or what asks the driver.
func (o Options) lister() host.Lister {
	if o.ListGPUs == nil {
		return host.GPUs
	}
	return o.ListGPUs
}

// Plan is a job of built-in kernels that is about to run.
type Plan struct {
	session.Run
	Sources *settings.Sources // of Run.Config
}

// Naive is the algorithm, of every collective and product, that takes far longer than the others.
const Naive = "naive"

// jobOf turns settings into the job of a collective or a product.
type jobOf func(*settings.Sources, settings.Config) (workload.Job, error)

// settle reads the settings and finds the host. The simulator has defaults of its own, so
// that settings are read again for it. Errors of usage come before those of the host.
func (p *Plan) settle(ctx context.Context, f *pflag.FlagSet, o Options, job jobOf) error {
	if err := p.read(f, o, o.Profiles, job); err != nil {
		return err
	}
	recorder := phases.FromContext(ctx)
	recorder.Begin(phases.Find)
	var err error
	if p.Host, err = host.Find(p.Config, o.lister()); p.Node.Several() {
		err = p.noteProblem(err)
	}
	if err != nil {
		return p.Sources.NameSource(err)
	}
	recorder.Begin(phases.Prepare)
	if p.Host.Backend != "sim" || p.Problem != nil {
		return nil
	}
	return p.read(f, o, slices.Concat(o.Profiles, [][]byte{configs.Simulator}, o.SimulatorProfiles), job)
}

// read turns flags, environment and file into the job.
func (p *Plan) read(f *pflag.FlagSet, o Options, profiles [][]byte, job jobOf) (err error) {
	if p.Sources, err = settings.Load(f, profiles...); err != nil {
		return err
	}
	var step *slurm.Step
	if o.OneHost == "" {
		step, p.Remark, err = node.ApplySlurmStep(p.Sources, nil)
	} else {
		err = node.RequireOneTask(p.Sources, o.OneHost)
	}
	if err != nil {
		return err
	}
	if p.Config, err = settings.Read(p.Sources); err != nil {
		return err
	}
	if o.Override != nil {
		o.Override(&p.Config)
	}
	if c := p.Config; o.OneHost != "" && (c.NNodes > 1 || c.NodeRank > 0) {
		return p.Sources.Invalid("nnodes", errors.New(o.OneHost))
	}
	if p.Node, err = node.Read(p.Sources, p.Config, step); err != nil {
		return err
	}
	if p.Job, err = job(p.Sources, p.Config); p.Node.Several() {
		p.Job.Nodes = p.Node.Count
	}
	p.Job.Skew = o.Skew
	if o.Trace && p.Config.Trace != "" {
		p.Job.Record = true
	}
	if o.Further {
		p.Job.VerifyFor = time.Duration(p.Config.Minutes * float64(time.Minute))
	}
	return err
}

// noteProblem stores why this host cannot take part in a job on several machines; err is the error of finding its
// devices. The node still meets the others, so that they do not wait until the time-out. It returns usage errors.
func (p *Plan) noteProblem(err error) error {
	var lacking *exit.EnvironmentError
	switch {
	case errors.As(err, &lacking):
		p.Problem = lacking
	case err != nil:
		return err
	case p.Host.Backend == "sim" && p.Node.Task != nil:
		p.Problem = &exit.EnvironmentError{Err: errors.New("ranks that srun starts one by one need NCCL or NVSHMEM, " +
			"which need GPUs, and this node has only the simulator: start them by srun --nodes=1 --ntasks=1 gpurun " +
			"--nproc-per-node N")}
	case p.Host.Backend == "sim":
		p.Problem = &exit.EnvironmentError{
			Err: errors.New("jobs across machines need NCCL or NVSHMEM, which need GPUs, and this node has only the simulator"),
		}
	}
	return nil
}

// leaveOut drops those of --algo all that cannot do the job, and notes why. An algorithm
// that is named stays, so that it is an error if it cannot. cannot says why, or returns "".
func (p *Plan) leaveOut(cannot func(name string) string) error {
	if !slices.Contains(p.Config.Algo, settings.All) {
		return nil
	}
	var kept, optional, dropped []string
	for _, name := range p.Job.Algorithms {
		if slices.Contains(p.Config.Algo, name) {
			kept = append(kept, name)
			continue
		}
		if why := cannot(name); why != "" {
			dropped = append(dropped, fmt.Sprintf("%s (%s)", name, why))
			continue
		}
		kept, optional = append(kept, name), append(optional, name)
	}
	p.LeftOut = strings.Join(dropped, ", ")
	if len(kept) == 0 {
		return exit.Usagef("no algorithm of %s can do this: %s", p.Job.Collective, p.LeftOut)
	}
	p.Job.Algorithms, p.Job.Optional = kept, optional
	return nil
}

// check asks the workers' own planning whether the ranks can do the job.
func (p *Plan) check() error {
	if err := p.Job.Check(p.World()); err != nil {
		return &exit.UsageError{Err: err}
	}
	return nil
}
