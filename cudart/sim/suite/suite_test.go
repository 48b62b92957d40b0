package suite

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"gpurun/cudart"
	"gpurun/cudart/driver"
	"gpurun/cudart/sim"
)

// families are all tables.
var families = []family{
	{"vector", vectorKernels},
	{"scan", scanKernels},
	{"sort", sortKernels},
	{"reduce", reduceKernels},
	{"science", scienceKernels},
	{"bits", bitsKernels},
	{"grid", gridKernels},
	{"matmul", matmulKernels},
	{"calls", callsKernels},
	{"concurrent", concurrentKernels},
	{"cluster_sm90", clusterKernels},
	{"approximate", approximateKernels},
}

// The committed PTX is what the sources of today would give.
func TestPTXIsFresh(t *testing.T) {
	all, err := Sources()
	if err != nil || len(all) == 0 {
		t.Fatalf("found %d sources: %v", len(all), err)
	}
	for _, s := range all {
		stamp, err := s.Stamp()
		if err != nil {
			t.Fatal(err)
		}
		if text := ptx(t, s.Name); !strings.HasPrefix(text, stamp) {
			t.Errorf("%s.ptx is stale: run go generate ./cudart/sim/suite", s.Name)
		}
	}
}

// Every kernel of the sources is in a table.
func TestEveryKernelRuns(t *testing.T) {
	all, err := Sources()
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, f := range families {
		for _, k := range f.kernels(random()) {
			listed[f.module+"."+k.entry] = true
		}
	}
	for _, s := range all {
		for _, line := range strings.Split(ptx(t, s.Name), "\n") {
			entry, ok := strings.CutPrefix(line, ".visible .entry ")
			if name := s.Name + "." + strings.TrimRight(entry, "()"); ok && !listed[name] {
				t.Errorf("no table has the kernel %s", name)
			}
		}
	}
}

func TestSimulator(t *testing.T) {
	for _, f := range families {
		t.Run(f.module, func(t *testing.T) { f.run(t, sim.New(1, sim.Options{}), random()) })
	}
}

// With disorder a kernel must still be right: it waits for all that it needs. CI runs more seeds.
func TestSimulatorWithDisorder(t *testing.T) {
	seeds := uint64(3)
	if os.Getenv("GPURUN_EXHAUSTIVE") == "1" {
		seeds = 8
	}
	for seed := range seeds {
		for _, f := range families {
			o := sim.Options{Seed: seed + 1}
			t.Run(fmt.Sprintf("%s-%d", f.module, o.Seed), func(t *testing.T) { f.run(t, sim.New(1, o), random()) })
		}
	}
}

// A GPU gives what the references and, where the kernel is exact, the simulator give.
func TestGPU(t *testing.T) {
	gpus := driver.New()
	infos, err := gpus.Devices()
	switch {
	case err != nil && (os.Getenv("GPURUN_REQUIRE_GPU") == "1" || !errors.Is(err, cudart.ErrNoDevice)):
		t.Fatal(err)
	case err != nil:
		t.Skip("no GPU:", err)
	}
	for _, f := range families {
		t.Run(f.module, func(t *testing.T) {
			if infos[0].Major < f.major() {
				t.Skipf("%s has compute capability %d.%d", infos[0].Name, infos[0].Major, infos[0].Minor)
			}
			onGPU, simulated := f.run(t, gpus, random()), f.run(t, sim.New(1, sim.Options{}), random())
			for name, bits := range simulated {
				if !bytes.Equal(bits, onGPU[name]) {
					t.Errorf("%s: the GPU and the simulator differ", name)
				}
			}
		})
	}
}

// random gives the same numbers to every run.
func random() *rand.Rand { return rand.New(rand.NewPCG(1, 2)) }

func ptx(t *testing.T, module string) string {
	t.Helper()
	text, err := Source{Name: module}.PTX()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// major is the compute capability that a family needs.
func (f family) major() int {
	if strings.HasSuffix(f.module, "_sm90") {
		return 9
	}
	return 8
}

// run launches a family's kernels and checks what they give. It returns the outputs that are exact.
func (f family) run(t *testing.T, backend cudart.Backend, r *rand.Rand) map[string][]byte {
	d, err := backend.Open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	m, err := d.LoadModule(f.module+".ptx", []byte(ptx(t, f.module)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	exact := map[string][]byte{}
	for i, k := range f.kernels(r) {
		got, err := k.run(d, m, s)
		if err != nil {
			t.Errorf("%s: %v", k.entry, err)
			continue
		}
		for at, a := range k.args {
			if a.check == nil {
				continue
			}
			if err := a.check(got[at]); err != nil {
				t.Errorf("%s, argument %d: %v", k.entry, at, err)
			}
			if a.exact {
				exact[fmt.Sprintf("%s (row %d), argument %d", k.entry, i, at)] = got[at]
			}
		}
	}
	return exact
}

// run launches a kernel and returns the contents of its buffers, by argument.
func (k kernel) run(d cudart.Device, m cudart.Module, s cudart.Stream) ([][]byte, error) {
	code, err := m.Kernel(k.entry)
	if err != nil {
		return nil, err
	}
	var params []byte
	buffers := make([]cudart.DevicePtr, len(k.args))
	for i, a := range k.args {
		if a.value == nil {
			if buffers[i], err = d.Malloc(int64(len(a.buffer))); err != nil {
				return nil, err
			}
			defer d.Free(buffers[i])
			if err := s.Upload(buffers[i], a.buffer); err != nil {
				return nil, err
			}
			a = value(uint64(buffers[i]))
		}
		for len(params)%a.alignment != 0 {
			params = append(params, 0)
		}
		params = append(params, a.value...)
	}
	if err := s.Launch(code, k.launch, params); err != nil {
		return nil, err
	}
	got := make([][]byte, len(k.args))
	for i, a := range k.args {
		if a.value != nil {
			continue
		}
		got[i] = make([]byte, len(a.buffer))
		if err := s.Download(got[i], buffers[i]); err != nil {
			return nil, err
		}
	}
	return got, nil
}
