package conformance

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gpurun/cudart"
	"gpurun/kernels"
	"gpurun/kernels/ptx"
)

// A run loads only the modules that it needs, and the driver compiles each module in less than half a second. The best
// of three times counts, because other processes slow the compiler down. The driver reads its environment once, so the
// variable must be set before the process starts.
func TestGPUCompilesEveryModuleQuickly(t *testing.T) {
	const bound = 500 * time.Millisecond
	if os.Getenv("CUDA_CACHE_DISABLE") != "1" || os.Getenv("CUDA_MODULE_LOADING") != "EAGER" {
		t.Skip("run it with CUDA_CACHE_DISABLE=1 CUDA_MODULE_LOADING=EAGER, so that all of every module is compiled")
	}
	device, err := requireGPU(t).Open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer device.Close()
	info := device.Info()
	var all []string
	for _, m := range kernels.Modules() {
		if !m.Arch.RunsOn(10*info.Major + info.Minor) {
			continue
		}
		took := loadTime(t, device, m.Name)
		for tries := 1; tries < 3 && took > bound; tries++ {
			took = min(took, loadTime(t, device, m.Name))
		}
		all = append(all, fmt.Sprintf("%6d us %s", took.Microseconds(), m.Name))
		if took > bound {
			t.Errorf("%s took %v", m.Name, took)
		}
	}
	slices.Sort(all)
	t.Logf("the slowest of %d modules on %s:\n%s", len(all), info.Name, strings.Join(all[max(0, len(all)-8):], "\n"))
}

func loadTime(t *testing.T, device cudart.Device, name string) time.Duration {
	t.Helper()
	text, err := ptx.Source(name)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	m, err := device.LoadModule(name, text)
	if err != nil {
		t.Fatal(err)
	}
	took := time.Since(began)
	if err := m.Unload(); err != nil {
		t.Fatal(err)
	}
	return took
}
