// Package schedule has schedules of a run as values: who can take a turn, lists of turns, files of them, and shorter
// lists that show the same. It does not execute anything.
package schedule

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// Format is the version of the format of schedule files.
const Format = 2

// Schedule is a schedule that can run again. As JSON it is the content of a file.
type Schedule struct {
	Format int `json:"format"`
	// Version and Command are the caller's: which gpurun made the schedule, and for what.
	Version  string          `json:"version,omitempty"`
	Command  json.RawMessage `json:"command,omitempty"`
	Ranks    int             `json:"ranks"`
	SMs      int             `json:"sms"`
	Strategy string          `json:"strategy,omitempty"`
	Seed     uint64          `json:"seed"`
	// Trace is a digest of all that the run has done. A replay that does something else has another one.
	Trace uint64 `json:"trace,string"`
	// Turns are the decisions. Behind the last one everyone runs until it waits, the lowest number first.
	Turns Turns `json:"turns"`
}

// Parse reads the content of a schedule file.
func Parse(text []byte) (*Schedule, error) {
	var s Schedule
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	switch err := d.Decode(&s); {
	case err != nil:
		return nil, fmt.Errorf("not a schedule of gpurun check, as JSON: %w", err)
	case s.Format == 0:
		return nil, errors.New("no schedule: it has no format; name a file that gpurun check wrote")
	case s.Format != Format:
		return nil, fmt.Errorf("the schedule has format %d, and this gpurun reads %d: use the gpurun that wrote it (%q)",
			s.Format, Format, s.Version)
	case s.Ranks < 1 || s.SMs < 1:
		return nil, errors.New("the schedule names no ranks or multiprocessors: it is no file of gpurun check")
	}
	return &s, nil
}
