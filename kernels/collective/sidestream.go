package collective

import (
	"errors"
	"fmt"

	"gpurun/cudart"
)

// side is a stream for work beside that of a caller's stream, and the mark by which one of
// them waits for the other.
type side struct {
	stream cudart.Stream
	mark   cudart.Event
}

func newSide(d cudart.Device) (side, error) {
	var x side
	var err error
	if x.stream, err = d.NewStream(); err != nil {
		return x, err
	}
	if x.mark, err = d.NewEvent(); err != nil {
		return x, errors.Join(err, x.close())
	}
	return x, nil
}

func (x *side) close() error {
	var errs []error
	if x.mark != nil {
		errs = append(errs, x.mark.Close())
	}
	if x.stream != nil {
		errs = append(errs, x.stream.Close())
	}
	*x = side{}
	return errors.Join(errs...)
}

// Side is a stream of the Comm's own. Who uses it for a call on another stream has it wait
// for that first, and that for it at the end, by Behind: a capture of the other then takes
// in both.
func (c *Comm) Side() cudart.Stream { return c.side.stream }

// Behind has what is enqueued on one stream from now on wait for what is on another by now.
func (c *Comm) Behind(later, earlier cudart.Stream) error {
	if err := earlier.Record(c.side.mark); err != nil {
		return fmt.Errorf("marking how far a stream has come: %w", err)
	}
	if err := later.Wait(c.side.mark); err != nil {
		return fmt.Errorf("having a stream wait for another: %w", err)
	}
	return nil
}

// Beside has aside enqueue work on Side, and main on s. Both begin where s is, run at the same
// time, and are over for what is enqueued on s later.
func (c *Comm) Beside(s cudart.Stream, aside func(cudart.Stream) error, main func() error) error {
	if err := c.Behind(c.Side(), s); err != nil {
		return err
	}
	if err := aside(c.Side()); err != nil {
		return err
	}
	if err := main(); err != nil {
		return err
	}
	return c.Behind(s, c.Side())
}
