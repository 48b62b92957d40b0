package sources

import (
	"errors"
	"fmt"

	"gpurun/cmd/gpurun/exit"
)

// misfitError is a setting that does not fit the machine.
type misfitError struct {
	key    string
	reason error
}

func (e *misfitError) Error() string { return "--" + e.key + ": " + e.reason.Error() }

// Misfit makes a usage error of a setting that does not fit the machine, for those who do not
// know where its value comes from: see Sources.Blamed.
func Misfit(key, format string, args ...any) error {
	return &exit.UsageError{Err: &misfitError{key, fmt.Errorf(format, args...)}}
}

// Blamed blames the source of a setting for an error that Misfit made; other errors it
// returns as they are.
func (s *Sources) Blamed(err error) error {
	var misfit *misfitError
	if errors.As(err, &misfit) {
		return s.Blame(misfit.key, misfit.reason)
	}
	return err
}
