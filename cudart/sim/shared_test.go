package sim

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
)

//go:embed testdata/shared.ptx
var sharedPTX []byte

// checkShared uses all of a block's shared memory, of which a kernel may have so many bytes.
func checkShared(t *testing.T, d cudart.Device, most int) {
	t.Helper()
	const threads = 256
	for _, bytes := range []int{4 * threads, 48 << 10, most} {
		n := bytes / 4
		want := make([]uint32, threads)
		for thread := range want {
			for i := thread; i < n; i += threads {
				want[thread] += uint32(n-1-i) * 7
			}
		}
		shape := cudart.Launch{Blocks: 1, Threads: threads, SharedBytes: bytes}
		if diff := cmp.Diff(want, launchWords(t, d, sharedPTX, "fill", shape, threads)); diff != "" {
			t.Errorf("%d bytes: %s", bytes, diff)
		}
	}
	got := launchWords(t, d, sharedPTX, "beside", cudart.Launch{Blocks: 1, Threads: 1, SharedBytes: most - 40<<10}, 1)
	if got[0] != 40<<10 {
		t.Errorf("dynamic shared memory begins %d bytes behind the kernel's variable", got[0])
	}
	m, err := d.LoadModule("shared.ptx", sharedPTX)
	if err != nil {
		t.Fatal(err)
	}
	k, err := m.Kernel("beside")
	if err != nil {
		t.Fatal(err)
	}
	err = mustStream(t, d).Launch(k, cudart.Launch{Blocks: 1, Threads: 1, SharedBytes: most - 40<<10 + 4}, params(0))
	if !isResult(err, cudart.ErrInvalidValue) ||
		!strings.Contains(err.Error(), "are possible beside 40960 of static memory") {
		t.Errorf("too much shared memory: %v", err)
	}
}

func TestDynamicSharedMemory(t *testing.T) { checkShared(t, openWith(t, Options{}), 227<<10) }

func TestGPUAndSimulatorAgreeOnSharedMemory(t *testing.T) {
	d, err := gpuBackend(t, 9).Open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	checkShared(t, d, 227<<10)
	checkStatic(t, d)
	checkReserved(t, d)
}

// checkReserved asks where shared memory begins.
func checkReserved(t *testing.T, d cudart.Device) {
	t.Helper()
	want := []uint32{0, 288, 1024, 1024, 1136, 2176, 2048, 77}
	got := launchWords(t, d, sharedPTX, "reserved", cudart.Launch{Blocks: 1, Threads: 1, SharedBytes: 2048}, len(want))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReservedSharedMemory(t *testing.T) { checkReserved(t, openWith(t, Options{})) }

// checkStatic declares variables in shared memory, of the most bytes that are possible and of more.
func checkStatic(t *testing.T, d cudart.Device) {
	t.Helper()
	const text = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 out) {\n" +
		".shared .b8 large[BYTES];\n.reg .b64 p, v;\nld.param.u64 p, [out];\nmov.u64 v, large;\nst.global.u64 [p], " +
		"v;\nret;\n}\n"
	if err := loadKernel(d, strings.Replace(text, "BYTES", "232448", 1), "k"); err != nil {
		t.Error(err)
	}
	err := loadKernel(d, strings.Replace(text, "BYTES", "232449", 1), "k")
	if !isResult(err, cudart.ErrInvalidPTX) {
		t.Errorf("too large a variable: %v", err)
	}
}

func TestStaticSharedMemory(t *testing.T) { checkStatic(t, openWith(t, Options{})) }
