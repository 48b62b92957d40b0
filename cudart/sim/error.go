package sim

import (
	"errors"
	"fmt"

	"gpurun/cudart"
)

// failure is a *cudart.Error with a formatted detail.
func failure(op string, code cudart.Result, format string, args ...any) error {
	return &cudart.Error{Op: op, Code: code, Detail: fmt.Sprintf(format, args...)}
}

// failedBy is a *cudart.Error with the cudart.Result that err wraps. Where it
// wraps none, it is err with the operation before it.
func failedBy(op string, err error) error {
	var code cudart.Result
	if !errors.As(err, &code) {
		return fmt.Errorf("%s: %w", op, err)
	}
	return failure(op, code, "%v", err)
}
