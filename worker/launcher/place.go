package launcher

import "gpurun/worker/agent"

// place is where the workers of an attempt meet: MASTER_PORT. The worker with
// rank 0 listens there, so a port that was found free is held until just before
// the workers start.
type place struct {
	port int
	held *agent.HeldPort // nil for a port that the user chose
}

// meet finds a place, at a free port if port is 0.
func meet(port int) (place, error) {
	if port != 0 {
		return place{port: port}, nil
	}
	held, err := agent.HoldPort()
	if err != nil {
		return place{}, err
	}
	return place{port: held.Number(), held: held}, nil
}

// release leaves the port to the workers.
func (p place) release() error {
	if p.held == nil {
		return nil
	}
	return p.held.Release()
}
