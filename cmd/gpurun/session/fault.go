package session

import (
	"errors"

	"gpurun/cmd/gpurun/host"
	"gpurun/cudart/nvml"
	"gpurun/worker/process/agent"
	"gpurun/worker/process/launcher"
)

// faults says how a GPU of this machine has failed during a run. A nil faults knows of none.
type faults struct{ watch *host.Watch }

// watchFaults begins to watch the GPUs of this machine, if the run uses them. The caller closes it.
func (p *Run) watchFaults() *faults {
	if p.Host.Backend == "sim" {
		return nil
	}
	return &faults{host.WatchGPUs(nvml.DefaultPaths()...)}
}

// close does not wait for the driver, which may not answer.
func (f *faults) close() {
	if f != nil {
		go func() { _ = f.watch.Close() }()
	}
}

// now is a *launcher.UnfitError if a GPU has failed. It returns in bounded time.
func (f *faults) now() error {
	if f == nil {
		return nil
	}
	if err := f.watch.Fault(); err != nil {
		return &launcher.UnfitError{Err: err}
	}
	return nil
}

// after is now for a run that has ended so, with some results wrong or none. It is nil if nothing has failed, and after
// a signal.
func (f *faults) after(o *agent.Outcome, wrong bool) error {
	if o == nil || o.Signal != 0 || o.First == nil && o.Cause == nil && !wrong {
		return nil
	}
	return f.now()
}

// isUnfit reports whether an error says that this machine is to blame.
func isUnfit(err error) bool { return errors.As(err, new(*launcher.UnfitError)) }
