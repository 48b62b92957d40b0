package sim

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"gpurun/cudart"
)

// aloneVariable tells a process which device, "gpu" or "simulator", one copy is for.
const aloneVariable = "GPURUN_TEST_BOX"

// oddCopies have boxes that begin where a GPU may not take them: within the pattern of a
// swizzle, or within 16 bytes of a row. In between are some that it takes.
func oddCopies() (all []*tensorCopy) {
	const bf16 = cudart.TensorBFloat16
	in := []int64{200, 100}
	for swizzle := 32; swizzle <= 128; swizzle *= 2 {
		for offset := 128; offset <= 8*swizzle; offset *= 2 {
			all = append(all, &tensorCopy{bf16, in, []int{swizzle / 2, 16}, swizzle, []int32{64, 80}, offset})
		}
	}
	all = append(all, &tensorCopy{bf16, in, []int{64, 32}, 128, []int32{152, 80}, 384})
	for _, first := range []int32{150, 8, 4, 1, -4, 204} {
		all = append(all, &tensorCopy{bf16, in, []int{64, 32}, 128, []int32{first, 80}, 0})
	}
	return append(all,
		&tensorCopy{bf16, in, []int{64, 32}, 0, []int32{150, 80}, 0},
		&tensorCopy{cudart.TensorUint8, in, []int{64, 32}, 64, []int32{8, 80}, 0},
		&tensorCopy{cudart.TensorFloat32, in, []int{32, 32}, 128, []int32{2, 80}, 0})
}

// What the simulator takes, a GPU takes too, and a load or a store is then the same. Where
// the simulator is stricter, the log says what the GPU does. Each copy has a process to
// itself, since a GPU that does not take it ends all work of the process.
func TestGPUTakesBoxes(t *testing.T) {
	gpuBackend(t, 9)
	for _, c := range oddCopies() {
		for _, store := range []bool{false, true} {
			name := fmt.Sprintf("type %d swizzle %d first %d offset %d %s", c.typ, c.swizzle, c.corner[0], c.offset, map[bool]string{false: "load", true: "store"}[store])
			t.Run(name, func(t *testing.T) {
				if device := os.Getenv(aloneVariable); device != "" {
					checkAlone(t, device, c, store)
					return
				}
				compareAlone(t)
			})
		}
	}
}

func checkAlone(t *testing.T, device string, c *tensorCopy, store bool) {
	backend := cudart.Backend(New(1, Options{Major: 9}))
	if device == "gpu" {
		backend = gpuBackend(t, 9)
	}
	d, err := backend.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	r, random := newTensorRig(t, d), rand.New(rand.NewPCG(1, 5))
	if store {
		r.checkStore(c, random)
		return
	}
	r.checkLoad(c, random)
}

// compareAlone runs the running test again in a process for each device.
func compareAlone(t *testing.T) {
	gpuSays, onGPU := runAlone(t, "gpu")
	simulatorSays, simulated := runAlone(t, "simulator")
	switch {
	case onGPU == nil && simulated == nil:
		t.Log("both take it")
	case onGPU != nil && simulated != nil:
		t.Logf("both refuse it: %s\n%s", gpuSays, simulatorSays)
	case onGPU == nil:
		t.Logf("the GPU takes it, the simulator refuses it: %s", simulatorSays)
	default:
		t.Errorf("the simulator takes it, the GPU does not (%v): %s", onGPU, gpuSays)
	}
}

// runAlone returns what the process has to say, and err = nil if it made the copy as
// described.
func runAlone(t *testing.T, device string) (said string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self, "-test.count=1", "-test.v", "-test.run=^"+strings.ReplaceAll(t.Name(), "/", "$/^")+"$")
	cmd.Env = append(os.Environ(), aloneVariable+"="+device)
	out, err := cmd.CombinedOutput()
	if err == nil && !strings.Contains(string(out), "--- PASS: "+t.Name()+" ") {
		t.Fatalf("no copy was made: %s", out)
	}
	var lines []string
	for line := range strings.Lines(string(out)) {
		if strings.Contains(line, ".go:") || strings.Contains(line, "panic:") {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	return strings.Join(lines, "\n"), err
}
