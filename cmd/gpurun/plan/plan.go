// Package plan decides what runs where: it reads the settings, finds the machine, reads the
// simulator's defaults if that is the machine, and checks that the ranks can do the job.
package plan

import (
	"context"
	"errors"
	"slices"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/machine"
	"gpurun/cmd/gpurun/session"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/sources"
	"gpurun/configs"
	"gpurun/worker/result/phases"
)

// Purpose is what commands that run collectives differ in. The zero value is the usual run.
type Purpose struct {
	Profiles [][]byte // change defaults
	// Simulator changes them further, and the simulator's own
	Simulator [][]byte
	Force     func(*settings.Config) // changes what no source may; nil changes nothing
	List      machine.Lister         // nil: the driver's own, each time anew
	// OneMachine says why the ranks cannot be on several machines; empty: they can.
	OneMachine string
}

// settle reads the settings for a run, and finds the machine for it. Errors of usage come
// before those of the machine.
func (why Purpose) settle(ctx context.Context, r *session.Run, read func(profiles [][]byte) (*sources.Sources, error)) (*sources.Sources, error) {
	s, err := read(why.Profiles)
	if err != nil {
		return nil, err
	}
	list := why.List
	if list == nil {
		list = machine.GPUs
	}
	noted := phases.FromContext(ctx)
	noted.Begin(phases.Find)
	if r.Machine, err = machine.Find(r.Config, list); r.Nodes.Several() {
		err = unfit(r, err)
	}
	if err != nil {
		return nil, s.Blamed(err)
	}
	noted.Begin(phases.Prepare)
	if r.Machine.Backend != "sim" || r.Problem != nil {
		return s, nil
	}
	return read(slices.Concat(why.Profiles, [][]byte{configs.Simulator}, why.Simulator))
}

// unfit notes that this machine cannot take part in a job across machines, given
// what came of looking for its devices: then the nodes meet all the same, so that
// none waits in vain. A slip of the user's is returned.
func unfit(r *session.Run, err error) error {
	var lacking *exit.EnvironmentError
	switch {
	case errors.As(err, &lacking):
		r.Problem = lacking
	case err != nil:
		return err
	case r.Machine.Backend == "sim" && r.Nodes.Task != nil:
		r.Problem = &exit.EnvironmentError{Err: errors.New("ranks that srun starts one by one need NCCL or NVSHMEM, which need GPUs, and here is the simulator: " +
			"it wants srun --nodes=1 --ntasks=1 gpurun --nproc-per-node N")}
	case r.Machine.Backend == "sim":
		r.Problem = &exit.EnvironmentError{Err: errors.New("jobs across machines need NCCL or NVSHMEM, which need GPUs, and here is the simulator")}
	}
	return nil
}

// check asks the workers' own planning whether the ranks can do the job.
func check(r *session.Run) error {
	if err := r.Job.Check(r.World()); err != nil {
		return &exit.UsageError{Err: err}
	}
	return nil
}

// Naive is the algorithm, of every collective and product, that takes far longer than the others.
const Naive = "naive"
