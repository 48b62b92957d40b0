package launch

import (
	"errors"
	"fmt"

	"gpurun/cmd/gpurun/exit"
	"gpurun/rendezvous/elastic"
	"gpurun/worker/process/launcher"
)

// codeOfCommand is gpurun's exit code for a worker's.
func (p *command) codeOfCommand(code int) int {
	own, reserved := exit.OfCommand(code)
	if reserved {
		p.log.Warn(fmt.Sprintf("a worker exited with code %d, which gpurun reserves for failures of machines: "+
			"gpurun exits with %d", code, own))
	}
	return own
}

// lostNode gives an error the code of a lost node, if nodes that had met did not meet again, or lost the one that
// serves them. Before the first round, r is nil, and the nodes have not met.
func lostNode(r *launcher.Result, err error) error {
	end := new(elastic.End)
	switch {
	case r == nil || !errors.As(err, new(*launcher.MeetingError)):
		return err
	case errors.Is(err, elastic.ErrServerGone), errors.As(err, &end) && end.Kind == elastic.TimedOut:
		return &exit.Error{Code: exit.NodeLost, Err: err}
	}
	return err
}
