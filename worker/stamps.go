package worker

import (
	"fmt"
	"time"

	"gpurun/cudart"
)

// stamps are events recorded one after the other on a stream.
type stamps []cudart.Event

func newStamps(d cudart.Device, n int) (stamps, error) {
	var s stamps
	for range n {
		e, err := d.NewEvent()
		if err != nil {
			s.close()
			return nil, fmt.Errorf("creating an event: %w", err)
		}
		s = append(s, e)
	}
	return s, nil
}

// intervals are the times between neighbours, each divided by calls.
func (s stamps) intervals(calls int) ([]time.Duration, error) {
	var all []time.Duration
	for i := range s[1:] {
		d, err := s[i+1].Since(s[i])
		if err != nil {
			return nil, fmt.Errorf("reading an event: %w", err)
		}
		all = append(all, d/time.Duration(calls))
	}
	return all, nil
}

// reached counts the stamps that the stream has taken.
func (s stamps) reached() int {
	for i := range s {
		if _, err := s[i].Since(s[0]); err != nil { // not ready
			return i
		}
	}
	return len(s)
}

// close destroys the events. What fails here is freed with the device.
func (s stamps) close() {
	for _, e := range s {
		_ = e.Close()
	}
}
