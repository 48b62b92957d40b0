package spawn

import (
	"os"
	"runtime"
	"testing"
)

// The tests keep the main thread for themselves: Go never ends that thread, so a [Thread] that
// ran on it would not take its processes along.
func TestMain(m *testing.M) {
	os.Exit(m.Run())
}

func init() { runtime.LockOSThread() }
