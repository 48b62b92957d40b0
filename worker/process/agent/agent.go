// Package agent launches the workers of one node, watches them, and ends them.
//
// [Run] starts Spec.Workers processes, streams their output in whole lines,
// and returns when all have ended. The first failure ends the group: every
// other worker's process group gets SIGTERM, and after a grace SIGKILL.
// Workers are processes of their own session, so that a terminal's signals
// reach only gpurun, which passes them on once.
//
// No process may be left when a run is over, however it ends: workers die with the agent
// (PR_SET_PDEATHSIG), and package guard ends what they leave behind.
//
// One goroutine, Run's, decides. It owns the workers' state. Other goroutines read the
// workers' pipes and wait for their exits, and send it events.
//
// The package knows nothing of collectives, flags, or configuration.
package agent

import "context"

// Run starts the workers and returns when all have ended, or when one could
// not be ended. The end of ctx ends the run like a signal; where its cause is a
// [signals.Received], workers get that signal, and otherwise SIGTERM.
//
// An error means that Run could not do its own work: start a worker, write
// output, or clean up. What the workers did is in the Outcome, which is nil
// only when the Spec is not valid.
func Run(ctx context.Context, spec Spec) (*Outcome, error) {
	if err := spec.complete(); err != nil {
		return nil, err
	}
	g := newGroup(spec)
	g.start(ctx)
	g.watch(ctx)
	g.cleanUp()
	g.drain(ctx)
	return g.outcome(), g.err()
}
