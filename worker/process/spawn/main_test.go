package spawn

import (
	"os"
	"runtime"
	"testing"
)

// onMainThread takes functions that the main thread is to call.
var onMainThread = make(chan func())

// The main goroutine has the main thread since init, and keeps it.
func TestMain(m *testing.M) {
	ended := make(chan int)
	go func() { ended <- m.Run() }()
	for {
		select {
		case f := <-onMainThread:
			f()
		case code := <-ended:
			os.Exit(code)
		}
	}
}

func init() { runtime.LockOSThread() }
