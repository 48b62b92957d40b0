package conformance

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"testing"
)

// Parallel tests mostly wait, for a rank that never comes or for each other. So four for each core run at a time, unless
// -parallel says otherwise. A test that may run on a GPU is not parallel, because the GPU has no room for the ranks of two tests.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", fmt.Sprint(4*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
