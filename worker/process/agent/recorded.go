package agent

import (
	"os"
	"time"
)

// recordedAt returns when the worker wrote its error file, and false if it did
// not. A process that reports an error in a file may take long to exit, and
// others that merely follow may be faster.
func (w *worker) recordedAt() (time.Time, bool) {
	if w.errorFile == "" {
		return time.Time{}, false
	}
	info, err := os.Stat(w.errorFile)
	if err != nil || info.Size() == 0 {
		return time.Time{}, false
	}
	return info.ModTime(), true
}

// exited is the failure of a worker that ended badly at that time. What it
// recorded itself happened earlier.
func (w *worker) exited(at time.Time) time.Time {
	if recorded, ok := w.recordedAt(); ok && recorded.Before(at) {
		return recorded
	}
	return at
}
