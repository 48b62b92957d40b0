package main

import (
	"errors"
	"fmt"

	"gpurun/cmd/gpurun/exit"
)

// misfitError is a setting that does not fit the machine. Who knows the settings
// says where the value comes from; see settings.blamed.
type misfitError struct {
	key    string
	reason error
}

func (e *misfitError) Error() string { return "--" + e.key + ": " + e.reason.Error() }

// misfit makes a usage error of a misfitError.
func misfit(key, format string, args ...any) error {
	return &exit.UsageError{Err: &misfitError{key, fmt.Errorf(format, args...)}}
}

// blamed blames the source of a setting that does not fit the machine; other errors it
// returns as they are.
func (s *settings) blamed(err error) error {
	var misfit *misfitError
	if errors.As(err, &misfit) {
		return s.blame(misfit.key, misfit.reason)
	}
	return err
}
