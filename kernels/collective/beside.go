package collective

import (
	"errors"
	"fmt"

	"gpurun/cudart"
)

// side is a stream for work beside that of a caller's stream, and where it leaves that
// and comes back.
type side struct {
	stream      cudart.Stream
	leave, back cudart.Event
}

func newSide(d cudart.Device) (side, error) {
	var x side
	var err error
	if x.stream, err = d.NewStream(); err != nil {
		return x, err
	}
	if x.leave, err = d.NewEvent(); err != nil {
		return x, errors.Join(err, x.close())
	}
	if x.back, err = d.NewEvent(); err != nil {
		return x, errors.Join(err, x.close())
	}
	return x, nil
}

func (x *side) close() error {
	var errs []error
	for _, e := range []cudart.Event{x.leave, x.back} {
		if e != nil {
			errs = append(errs, e.Close())
		}
	}
	if x.stream != nil {
		errs = append(errs, x.stream.Close())
	}
	*x = side{}
	return errors.Join(errs...)
}

// Beside has aside enqueue work on a stream of the Comm's own, and main on s. Both begin
// where s is, run at the same time, and are over for what is enqueued on s later. A
// capture of s takes them both in. main may call Beside again: what that has enqueued
// aside comes behind what already is there.
func (c *Comm) Beside(s cudart.Stream, aside func(cudart.Stream) error, main func() error) error {
	x := c.side
	if err := s.Record(x.leave); err != nil {
		return fmt.Errorf("forking a stream: %w", err)
	}
	if err := x.stream.Wait(x.leave); err != nil {
		return fmt.Errorf("forking a stream: %w", err)
	}
	if err := aside(x.stream); err != nil {
		return err
	}
	if err := x.stream.Record(x.back); err != nil {
		return fmt.Errorf("joining a stream: %w", err)
	}
	if err := main(); err != nil {
		return err
	}
	if err := s.Wait(x.back); err != nil {
		return fmt.Errorf("joining a stream: %w", err)
	}
	return nil
}
