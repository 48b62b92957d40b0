package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"gpurun/cudart"
	"gpurun/cudart/driver"
	"gpurun/cudart/sim/insttest"
)

// Every instruction of the table gives the same bits on a GPU and in the simulator. Approximations
// are as near as the ISA demands on both; how many of their results differ is logged.
func TestGPUAndSimulatorAgreeOnInstructions(t *testing.T) {
	gpus := gpuBackend(t, 8)
	for _, g := range insttest.Groups() {
		t.Run(g.Name, func(t *testing.T) {
			if capability := gpuCapability(t, gpus); capability < g.SM {
				t.Skipf("the rows need sm_%d, and the GPU is sm_%d", g.SM, capability)
			}
			compareGroup(t, gpus, g)
		})
	}
}

// gpuBackend is the driver's, where there is a GPU of that compute capability
// or a higher one. Otherwise it skips the test.
func gpuBackend(t *testing.T, major int) cudart.Backend {
	t.Helper()
	gpus := driver.New()
	infos, err := gpus.Devices()
	switch {
	case err != nil && (os.Getenv("GPURUN_REQUIRE_GPU") == "1" || !errors.Is(err, cudart.ErrNoDevice)):
		t.Fatal(err)
	case err != nil:
		t.Skip("no GPU:", err)
	case infos[0].Major < major:
		t.Skipf("%s has compute capability %d.%d", infos[0].Name, infos[0].Major, infos[0].Minor)
	}
	return gpus
}

// gpuCapability is the number of the target that the GPU has: 90 for an H100.
func gpuCapability(t *testing.T, gpus cudart.Backend) int {
	t.Helper()
	infos, err := gpus.Devices()
	if err != nil {
		t.Fatal(err)
	}
	return 10*infos[0].Major + infos[0].Minor
}

// compareGroup runs the rows of a group by the same module and on the same operands.
func compareGroup(t *testing.T, gpus cudart.Backend, g insttest.Group) {
	t.Helper()
	const rows = 2048
	d, err := gpus.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	g.Rows = slices.DeleteFunc(g.Rows, func(row insttest.Row) bool { return row.Alone })
	g.Rows = acceptedRows(t, d, g)
	r := rand.New(rand.NewPCG(5, 6))
	inputs := make([][]byte, len(g.Rows))
	for i, row := range g.Rows {
		inputs[i] = insttest.Operands(r, row, rows)
	}
	simulated, err := New(1, Options{}).Open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer simulated.Close()
	text := insttest.Module(g.Target, g.Rows)
	onGPU, here := runRows(t, d, text, inputs), runRows(t, simulated, text, inputs)
	for i, row := range g.Rows {
		compareResults(t, row, inputs[i], onGPU[i], here[i])
	}
}

// acceptedRows are the rows of a group that the driver's compiler takes. Where it refuses the module of
// all, each row is tried alone, so that those that are refused name themselves.
func acceptedRows(t *testing.T, d cudart.Device, g insttest.Group) []insttest.Row {
	t.Helper()
	if _, err := d.LoadModule("instructions", []byte(insttest.Module(g.Target, g.Rows))); err == nil {
		return g.Rows
	}
	var accepted []insttest.Row
	for _, row := range g.Rows {
		if _, err := d.LoadModule("instruction", []byte(insttest.Module(g.Target, []insttest.Row{row}))); err != nil {
			t.Errorf("the driver refuses %s: %v", row.Text, err)
			continue
		}
		accepted = append(accepted, row)
	}
	return accepted
}

// runRows runs each kernel of a module on its operands, and returns what is in memory then.
func runRows(t *testing.T, d cudart.Device, text string, inputs [][]byte) [][]byte {
	t.Helper()
	m, err := d.LoadModule("instructions", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	s := mustStream(t, d)
	out := make([][]byte, len(inputs))
	for i, in := range inputs {
		k, err := m.Kernel(fmt.Sprintf("k%d", i))
		if err != nil {
			t.Fatal(err)
		}
		p := mustMalloc(t, d, int64(len(in)))
		if err := s.Upload(p, in); err != nil {
			t.Fatal(err)
		}
		if err := s.Launch(k, cudart.Launch{Blocks: len(in) / insttest.RowBytes / 256, Threads: 256},
			params(uint64(p))); err != nil {
			t.Fatal(err)
		}
		out[i] = make([]byte, len(in))
		if err := s.Download(out[i], p); err != nil {
			t.Fatal(err)
		}
		if err := d.Free(p); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

func compareResults(t *testing.T, row insttest.Row, in, gpu, simulated []byte) {
	t.Helper()
	mask := insttest.Mask(strings.Fields(row.Types)[0])
	wrong, differ := 0, 0
	for i := range len(in) / insttest.RowBytes {
		x, y := insttest.Word(gpu, i, 0)&mask, insttest.Word(simulated, i, 0)&mask
		a, b, c := insttest.Word(in, i, 1), insttest.Word(in, i, 2), insttest.Word(in, i, 3)
		if x == y {
			continue
		}
		differ++
		if row.Near != nil && row.Near(x, a, b) {
			continue
		}
		if wrong++; wrong <= 4 {
			t.Errorf("%s of %#x, %#x, %#x is %#x on the GPU and %#x here", row.Text, a, b, c, x, y)
		}
	}
	if wrong > 4 {
		t.Errorf("%s: %d results differ", row.Text, wrong)
	}
	if row.Near != nil && differ > 0 {
		t.Logf("%s: %d results of %d differ", row.Text, differ, len(in)/insttest.RowBytes)
	}
}
