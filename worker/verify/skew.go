package verify

import (
	"context"
	"time"
)

// BeLate waits for so long, or until ctx ends with a cause.
func BeLate(ctx context.Context, by time.Duration) error {
	if by == 0 {
		return nil
	}
	timer := time.NewTimer(by)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
