package settings

import (
	"errors"
	"fmt"

	"gpurun/cmd/gpurun/exit"
)

// invalidKeyError is a setting that does not fit the machine.
type invalidKeyError struct {
	key    string
	reason error
}

func (e *invalidKeyError) Error() string { return "--" + e.key + ": " + e.reason.Error() }

// Misfit makes a usage error of a setting that does not fit the machine, for those who do not
// know where its value comes from: see Sources.Blamed.
func InvalidKey(key, format string, args ...any) error {
	return &exit.UsageError{Err: &invalidKeyError{key, fmt.Errorf(format, args...)}}
}

// Blamed blames the source of a setting for an error that Misfit made; other errors it
// returns as they are.
func (s *Sources) NameSource(err error) error {
	var invalid *invalidKeyError
	if errors.As(err, &invalid) {
		return s.Invalid(invalid.key, invalid.reason)
	}
	return err
}
