package conformance

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"testing"
)

// Many tests wait for a rank that never comes, and of the others none keeps all cores busy: twice as many at a time as there are
// cores, unless -parallel says otherwise. Those that may run on a GPU are not among them, which has no room for the ranks of two.
func TestMain(m *testing.M) {
	if err := flag.Set("test.parallel", fmt.Sprint(2*runtime.GOMAXPROCS(0))); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}
