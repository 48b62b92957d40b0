package collective

import (
	"errors"
	"fmt"

	"gpurun/cudart"
)

// sideStream is a stream for work that runs concurrently with a caller's stream. Each of the two waits for the other
// by the event.
type sideStream struct {
	stream cudart.Stream
	event  cudart.Event
}

func newSideStream(d cudart.Device) (sideStream, error) {
	var x sideStream
	var err error
	if x.stream, err = d.NewStream(); err != nil {
		return x, err
	}
	if x.event, err = d.NewEvent(); err != nil {
		return x, errors.Join(err, x.close())
	}
	return x, nil
}

func (x *sideStream) close() error {
	var errs []error
	if x.event != nil {
		errs = append(errs, x.event.Close())
	}
	if x.stream != nil {
		errs = append(errs, x.stream.Close())
	}
	*x = sideStream{}
	return errors.Join(errs...)
}

// SideStream returns the Comm's own stream. A call on stream s that uses the side stream first makes it wait for s, and
// at the end makes s wait for the side stream, by WaitFor. A capture of s then includes both streams.
func (c *Comm) SideStream() cudart.Stream { return c.side.stream }

// WaitFor makes later work on a stream wait for all work enqueued on another stream so far.
func (c *Comm) WaitFor(stream, other cudart.Stream) error {
	if err := other.Record(c.side.event); err != nil {
		return fmt.Errorf("recording the event that a stream waits for: %w", err)
	}
	if err := stream.Wait(c.side.event); err != nil {
		return fmt.Errorf("making a stream wait for another: %w", err)
	}
	return nil
}

// RunConcurrently forks SideStream from s, enqueues work on both, and joins them. The function aside enqueues work on
// SideStream, main on s. Later work on s waits for both.
func (c *Comm) RunConcurrently(s cudart.Stream, aside func(cudart.Stream) error, main func() error) error {
	if err := c.WaitFor(c.SideStream(), s); err != nil {
		return err
	}
	if err := aside(c.SideStream()); err != nil {
		return err
	}
	if err := main(); err != nil {
		return err
	}
	return c.WaitFor(s, c.SideStream())
}
