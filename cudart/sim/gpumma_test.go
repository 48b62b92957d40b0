package sim

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gpurun/cudart"
	"gpurun/cudart/sim/tensorcore"
)

// run multiplies all products on a device and returns its memory.
func (m *mmaKernel) run(t *testing.T, d cudart.Device, all []product) []byte {
	t.Helper()
	data := make([]byte, len(all)*m.dataBytes)
	for i, p := range all {
		m.pack(p, data[i*m.dataBytes:][:m.dataBytes])
	}
	return runMatrices(t, d, m.text, cudart.Launch{Blocks: len(all), Threads: m.threads}, data)
}

// runMatrices uploads data, runs the kernel k on it, and downloads it again.
func runMatrices(t *testing.T, d cudart.Device, text string, shape cudart.Launch, data []byte) []byte {
	t.Helper()
	m, err := d.LoadModule("matrices.ptx", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	k, err := m.Kernel("k")
	if err != nil {
		t.Fatal(err)
	}
	s, p := mustStream(t, d), mustMalloc(t, d, int64(len(data)))
	if err := s.Upload(p, data); err != nil {
		t.Fatal(err)
	}
	if err := s.Launch(k, shape, params(uint64(p))); err != nil {
		t.Fatal(err)
	}
	out := make([]byte, len(data))
	if err := s.Download(out, p); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(d.Free(p), s.Close()); err != nil {
		t.Fatal(err)
	}
	return out
}

// products returns so many of each kind for a kernel.
func (m *mmaKernel) products(r *rand.Rand, ofEach int) (all []product) {
	for range ofEach {
		for _, kind := range productKinds() {
			all = append(all, kind.random(r, [...]int{5, 8}[m.format], m.rows, m.columns, m.k))
		}
	}
	return all
}

func (m *mmaKernel) decode(v []uint16) (out []tensorcore.Element) {
	for _, x := range v {
		out = append(out, m.format.Decode(uint32(x)))
	}
	return out
}

// eachMismatch calls f for the results that differ from a model's.
func (m *mmaKernel) eachMismatch(model tensorcore.Model, all []product, results []byte,
	f func(kind string, p product, row, column int, result, want uint32),
) {
	named := productKinds()
	for i, p := range all {
		var columns [][]tensorcore.Element
		for _, v := range p.b {
			columns = append(columns, m.decode(v))
		}
		for row, v := range p.a {
			elements := m.decode(v)
			for column := range columns {
				got := binary.LittleEndian.Uint32(results[i*m.dataBytes+m.result(row, column):])
				if want := model.Dot(p.c[row][column], elements, columns[column]); got != want {
					f(named[i%len(named)].name, p, row, column, got, want)
				}
			}
		}
	}
}

// mismatches counts the results that differ from a model's, by kind of product.
func (m *mmaKernel) mismatches(model tensorcore.Model, all []product, results []byte) (total int, kinds string) {
	counts := map[string]int{}
	m.eachMismatch(model, all, results, func(kind string, _ product, _, _ int, _, _ uint32) {
		counts[kind]++
		total++
	})
	var parts []string
	for _, kind := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%s %d", kind, counts[kind]))
	}
	return total, strings.Join(parts, ", ")
}

// describe is all that a result is made of, and two opinions on it.
func (m *mmaKernel) describe(kind string, p product, row, column int, onGPU, here uint32) string {
	return fmt.Sprintf("%s: format %d, c %#x, a %#04x, b %#04x: %#x on the GPU and %#x here", kind, m.format,
		p.c[row][column], p.a[row], p.b[column], onGPU, here)
}

// The simulator's instructions compute what the model of the device says.
func TestMMAIsTheModel(t *testing.T) {
	for _, major := range []int{9, 10} {
		d := openWith(t, Options{Major: major})
		for _, m := range mmaKernels() {
			all := m.products(rand.New(rand.NewPCG(1, 2)), 2)
			if n, kinds := m.mismatches(tensorcore.Of(major), all, m.run(t, d, all)); n > 0 {
				t.Errorf("%d results of the simulator are not the model's (%s):\n%s", n, kinds, m.text)
			}
		}
	}
}

// Multiplications give the same bits on a GPU and in the simulator. Where they do not, what
// other models of tensor cores would say helps to find the right one.
func TestGPUAndSimulatorAgreeOnMMA(t *testing.T) {
	gpu := openHopper(t)
	d := openWith(t, Options{Major: 9})
	for _, m := range mmaKernels() {
		all := m.products(rand.New(rand.NewPCG(3, 4)), 1<<15/m.rows/len(productKinds())) // 2^18 results
		onGPU, simulated := m.run(t, gpu, all), m.run(t, d, all)
		if m.explain(t, all, onGPU, simulated) {
			m.fit(t, all[:len(all)/len(productKinds())/8*len(productKinds())], onGPU)
		}
	}
}

// explain reports results that differ, the first ten of each kind in full.
func (m *mmaKernel) explain(t *testing.T, all []product, onGPU, simulated []byte) (wrong bool) {
	t.Helper()
	named, shown, total := productKinds(), map[string]int{}, 0
	for i, p := range all {
		kind := named[i%len(named)].name
		for at := range m.rows * m.columns {
			row, column := at/m.columns, at%m.columns
			where := i*m.dataBytes + m.result(row, column)
			got, want := binary.LittleEndian.Uint32(simulated[where:]), binary.LittleEndian.Uint32(onGPU[where:])
			if got == want {
				continue
			}
			total++
			if shown[kind]++; shown[kind] <= 10 {
				t.Error(m.describe(kind, p, row, column, want, got))
			}
		}
	}
	if total > 0 {
		t.Errorf("%d results differ, by kind %v, of:\n%s", total, shown, m.text)
	}
	return total > 0
}

// fit reports which models come nearest to what a GPU computed, and what the nearest does
// not explain.
func (m *mmaKernel) fit(t *testing.T, all []product, onGPU []byte) {
	t.Helper()
	type candidate struct {
		model tensorcore.Model
		wrong int
		kinds string
	}
	var candidates []candidate
	for _, model := range candidateModels() {
		n, kinds := m.mismatches(model, all, onGPU)
		candidates = append(candidates, candidate{model, n, kinds})
	}
	slices.SortStableFunc(candidates, func(a, b candidate) int { return cmp.Compare(a.wrong, b.wrong) })
	for _, c := range candidates[:10] {
		t.Logf("of %d results, %d are not those of %+v (%s)", len(all)*m.rows*m.columns, c.wrong, c.model, c.kinds)
	}
	shown := 0
	m.eachMismatch(candidates[0].model, all, onGPU, func(kind string, p product, row, column int, got, want uint32) {
		if shown++; shown <= 10 {
			t.Logf("%s", m.describe(kind, p, row, column, got, want))
		}
	})
}

// candidateModels are those that agree with some GPU's on most results, with all
// exponents to which the smallest addends may be aligned.
func candidateModels() (models []tensorcore.Model) {
	floors := []int{-400}
	for floor := -150; floor <= -120; floor++ {
		floors = append(floors, floor)
	}
	for _, block := range []int{4, 8, 16} {
		for extra := range 5 {
			for _, nearest := range []bool{false, true} {
				for _, floor := range floors {
					models = append(models, tensorcore.Model{Block: block, Extra: extra, Floor: floor, Nearest: nearest})
				}
			}
		}
	}
	return models
}
