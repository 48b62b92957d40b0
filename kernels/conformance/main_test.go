package conformance

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"sync"
	"testing"

	"gpurun/kernels/collective"
)

// Many parallel tests wait for their own ranks, so that none keeps all cores busy: two for each core run at a time,
// unless -parallel says otherwise. A test that may run on a GPU is not parallel, because a GPU has no room for the
// ranks of two tests.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", fmt.Sprint(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// parallelInSimulator makes a test parallel unless it runs on a GPU. Tests that bound a wait in time stay as they are:
// they run before the parallel ones, when a rank has a core to itself.
func parallelInSimulator(t *testing.T) {
	t.Helper()
	if !onGPU(t) {
		t.Parallel()
	}
}

// forEachAlgorithm runs a subtest for each algorithm, eight for each core at a time, whatever -parallel says: the
// subtests mostly wait for a missing rank.
func forEachAlgorithm(t *testing.T, test func(t *testing.T, a *collective.Algorithm)) {
	t.Helper()
	slots := make(chan struct{}, 8*runtime.GOMAXPROCS(0))
	var all sync.WaitGroup
	for _, a := range algorithms() {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			t.Run(a.Collective+" "+a.Name, func(t *testing.T) { test(t, a) })
		})
	}
	all.Wait()
}
