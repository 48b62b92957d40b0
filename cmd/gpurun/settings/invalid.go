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

// InvalidKey makes a usage error for a setting that does not fit the machine, in code that does not know the source of
// the value: see Sources.NameSource.
func InvalidKey(key, format string, args ...any) error {
	return &exit.UsageError{Err: &invalidKeyError{key, fmt.Errorf(format, args...)}}
}

// NameSource adds the source of the setting to an error of InvalidKey. It returns other errors unchanged.
func (s *Sources) NameSource(err error) error {
	var invalid *invalidKeyError
	if errors.As(err, &invalid) {
		return s.Invalid(invalid.key, invalid.reason)
	}
	return err
}
