package rank

import (
	"fmt"
	"time"

	"gpurun/cudart"
)

// Events are recorded one after the other on a stream.
type Events []cudart.Event

// NewEvents makes n events. The caller closes them.
func (r *Rank) NewEvents(n int) (Events, error) {
	var s Events
	for range n {
		e, err := r.Device.NewEvent()
		if err != nil {
			s.Close()
			return nil, fmt.Errorf("creating an event: %w", err)
		}
		s = append(s, e)
	}
	return s, nil
}

// Intervals are the times between neighbors.
func (s Events) Intervals() ([]time.Duration, error) {
	var all []time.Duration
	for i := range s[1:] {
		d, err := s[i+1].Since(s[i])
		if err != nil {
			return nil, fmt.Errorf("reading an event: %w", err)
		}
		all = append(all, d)
	}
	return all, nil
}

// reached counts the events that the stream has passed.
func (s Events) reached() int {
	for i := range s {
		if _, err := s[i].Since(s[0]); err != nil { // not ready
			return i
		}
	}
	return len(s)
}

// Close destroys the events. One that is not destroyed is freed with the device.
func (s Events) Close() {
	for _, e := range s {
		_ = e.Close()
	}
}
