package sim

import (
	"context"
	"math/rand/v2"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gpurun/cudart"
)

// aloneVariable tells a process which device, "gpu" or "simulator", one copy is for.
const aloneVariable = "GPURUN_TEST_BOX"

// oddCopies have boxes that begin where a GPU might not take them: within the pattern of a
// swizzle, within 16 bytes of a row, or before the tensor. In between are their like that
// it is known to take.
func oddCopies() []*tensorCopy {
	return slices.Concat(withinPattern(), withinUnit(), beforeTensor())
}

func withinPattern() (all []*tensorCopy) {
	for swizzle := 32; swizzle <= 128; swizzle *= 2 {
		for offset := 128; offset <= 8*swizzle; offset *= 2 {
			all = append(all, &tensorCopy{
				cudart.TensorBFloat16, []int64{200, 100}, []int{swizzle / 2, 16}, swizzle, []int32{64, 80}, offset,
			})
		}
	}
	return append(all, &tensorCopy{cudart.TensorBFloat16, []int64{200, 100}, []int{64, 32}, 128, []int32{152, 80}, 384})
}

func withinUnit() (all []*tensorCopy) {
	in := []int64{200, 100}
	for _, first := range []int32{150, 8, 4, 1, -4, 204} {
		all = append(all, &tensorCopy{cudart.TensorBFloat16, in, []int{64, 32}, 128, []int32{first, 80}, 0})
	}
	return append(all,
		&tensorCopy{cudart.TensorBFloat16, in, []int{64, 32}, 0, []int32{150, 80}, 0},
		&tensorCopy{cudart.TensorUint8, in, []int{64, 32}, 64, []int32{8, 80}, 0},
		&tensorCopy{cudart.TensorFloat32, in, []int{32, 32}, 128, []int32{2, 80}, 0})
}

// beforeTensor has one suspicion a copy: a negative coordinate in one dimension or in another,
// with a swizzle or without, rows that are no multiple of 16 bytes, more rows than the
// tensor has, and 16-bit floats of the other kind.
func beforeTensor() []*tensorCopy {
	const bf16, half = cudart.TensorBFloat16, cudart.TensorFloat16
	whole, odd, cube := []int64{104, 7}, []int64{101, 7}, []int64{40, 3, 4}
	return []*tensorCopy{
		{half, odd, []int{64, 8}, 128, []int32{-8, -2}, 1024},
		{bf16, whole, []int{64, 4}, 128, []int32{-8, 1}, 0},
		{bf16, whole, []int{64, 4}, 0, []int32{-8, 1}, 0},
		{bf16, whole, []int{64, 4}, 0, []int32{-64, 1}, 0},
		{bf16, whole, []int{64, 4}, 128, []int32{8, -2}, 0},
		{bf16, whole, []int{64, 4}, 0, []int32{8, -4}, 0},
		{bf16, whole, []int{64, 8}, 128, []int32{8, 0}, 0},
		{bf16, odd, []int{64, 4}, 128, []int32{8, 1}, 0},
		{bf16, odd, []int{64, 4}, 128, []int32{40, 1}, 0},
		{half, whole, []int{64, 4}, 128, []int32{8, 1}, 0},
		{bf16, cube, []int{16, 2, 5}, 32, []int32{8, 1, -1}, 0},
		{bf16, cube, []int{16, 2, 5}, 32, []int32{8, -1, 0}, 0},
		{cudart.TensorUint8, []int64{100}, []int{128}, 0, []int32{-32}, 0},
		{cudart.TensorFloat32, []int64{31, 9}, []int{32, 4}, 128, []int32{0, -1}, 0},
	}
}

// What the simulator takes, a GPU takes too, and what the one refuses, the other refuses. Each
// copy has a process to itself, since one that a GPU does not take ends all work of the process.
func TestGPUTakesBoxes(t *testing.T) {
	gpuBackend(t, 9)
	for _, c := range oddCopies() {
		for _, store := range []bool{false, true} {
			t.Run(map[bool]string{false: "load", true: "store"}[store]+" "+c.String(), func(t *testing.T) {
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
	onGPU, gpuSays := runAlone(t, "gpu")
	simulated, simulatorSays := runAlone(t, "simulator")
	if onGPU == other || onGPU != simulated {
		t.Errorf("the GPU: %s, %s\nthe simulator: %s, %s", onGPU, gpuSays, simulated, simulatorSays)
	}
}

// verdict is what became of a copy.
type verdict string

const (
	taken   verdict = "taken" // and made as described
	refused verdict = "refused"
	other   verdict = "neither taken nor refused"
)

// runAlone makes the running test's copy in a process of its own, and returns what that
// has to say.
func runAlone(t *testing.T, device string) (v verdict, said string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(ctx, self, "-test.count=1", "-test.v", "-test.run="+exactly(t.Name()))
	cmd.Env = append(os.Environ(), aloneVariable+"="+device)
	out, err := cmd.CombinedOutput()
	said = string(out)
	switch {
	case err == nil && strings.Contains(said, "--- PASS: "+t.Name()+" "):
		return taken, said
	case err != nil && strings.Contains(said, "CUDA_ERROR_ILLEGAL_INSTRUCTION"):
		return refused, said
	}
	return other, said
}

// exactly is a pattern for -run that one test matches.
func exactly(name string) string {
	parts := strings.Split(name, "/")
	for i, part := range parts {
		parts[i] = "^" + regexp.QuoteMeta(part) + "$"
	}
	return strings.Join(parts, "/")
}
