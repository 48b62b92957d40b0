package conformance

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"testing"

	"gpurun/kernels/collective"
)

// Many parallel tests wait for their own ranks, so that none keeps all cores busy: two for each core run at a time,
// unless -parallel says otherwise. A test that may run on a GPU is not parallel, because a GPU has no room for the
// ranks of two tests.
//
// Buffers of short life make the heap grow and shrink all the time: it is collected when it has grown to four times
// its size, which saves a tenth of the processor time.
func TestMain(m *testing.M) {
	debug.SetGCPercent(300)
	if err := flag.Set("test.parallel", fmt.Sprint(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// parallelInSimulator makes a test parallel unless it runs on a GPU.
func parallelInSimulator(t *testing.T) {
	t.Helper()
	if !onGPU(t) {
		t.Parallel()
	}
}

// forEachAlgorithm runs a subtest for each algorithm.
func forEachAlgorithm(t *testing.T, test func(t *testing.T, a *collective.Algorithm)) {
	t.Helper()
	for _, a := range algorithms() {
		t.Run(a.Collective+" "+a.Name, func(t *testing.T) { test(t, a) })
	}
}
