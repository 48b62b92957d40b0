package checktask

import (
	"errors"

	"gpurun/kernels/collective"
)

// enqueue enqueues all calls, or the replays of their graph.
func (r *rank) enqueue(x exchange) error {
	all := func() error {
		for call := range r.enqueued() {
			if err := x.enqueue(call); err != nil {
				return err
			}
		}
		return nil
	}
	if !r.Replayed {
		return all()
	}
	g, err := r.stream.Capture(all)
	if err != nil {
		return err
	}
	return errors.Join(g.Launch(r.stream), x.betweenReplays(), g.Launch(r.stream), g.Close())
}

// launch makes the call of a number, twice where that shows what is launched early. In place, the second would have
// another input.
func (r *rank) launch(number int, call collective.Call) error {
	a := r.algorithm(number)
	err := a.Enqueue(r.comm, r.stream, call)
	if err == nil && r.PDL && !r.InPlace {
		err = a.Enqueue(r.comm, r.stream, call)
	}
	return err
}
