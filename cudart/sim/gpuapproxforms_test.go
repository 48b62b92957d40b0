package sim

import (
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"gpurun/cudart"
	"gpurun/cudart/sim/approx"
	"gpurun/cudart/sim/insttest"
)

// approximateForm is an approximation on other types than one single, with operands to compare.
type approximateForm struct {
	insttest.Row
	operands int
	operand  func(r *rand.Rand, i int) (a, b uint64)
	compute  func(a, b uint64) uint64 // of package approx
}

var approximateForms = []approximateForm{
	halfForm("tanh.approx.f16 d, a;", approx.Half("tanh")),
	halfForm("ex2.approx.f16 d, a;", approx.Half("ex2")),
	halfForm("tanh.approx.bf16 d, a;", approx.BFloat16("tanh")),
	halfForm("ex2.approx.ftz.bf16 d, a;", approx.BFloat16("ex2")),
	quotientForm("div.approx.f32 d, a, b;", approx.Div, false),
	quotientForm("div.approx.ftz.f32 d, a, b;", approx.Div, true),
	quotientForm("div.full.f32 d, a, b;", approx.DivFull, false),
	quotientForm("div.full.ftz.f32 d, a, b;", approx.DivFull, true),
	doubleForm("rcp.approx.ftz.f64 d, a;", 1<<20, approx.Double("rcp", true)),
	doubleForm("rsqrt.approx.ftz.f64 d, a;", 2<<20, approx.Double("rsqrt", true)),
	doubleForm("rsqrt.approx.f64 d, a;", 0, approx.Double("rsqrt", false)),
}

// halfForm has all operands.
func halfForm(text string, compute func(uint16) uint16) approximateForm {
	return approximateForm{
		Row: insttest.Row{Text: text, Types: "b16 b16"}, operands: 1 << 16,
		operand: func(_ *rand.Rand, i int) (a, b uint64) { return uint64(i), 0 },
		compute: func(a, _ uint64) uint64 { return uint64(compute(uint16(a))) },
	}
}

// quotientForm has random operands, half of them with exponents near that of 1.
func quotientForm(text string, divide func(a, b uint32, ftz bool) uint32, ftz bool) approximateForm {
	operand := func(r *rand.Rand, i int) (a, b uint64) {
		a, b = uint64(r.Uint32()), uint64(r.Uint32())
		if i&1 != 0 {
			a, b = a&^0x70000000|0x30000000, b&^0x70000000|0x30000000
		}
		return a, b
	}
	return approximateForm{
		Row: insttest.Row{Text: text, Types: "f32 f32 f32"}, operands: 1 << 19, operand: operand,
		compute: func(a, b uint64) uint64 { return uint64(divide(uint32(a), uint32(b), ftz)) },
	}
}

// doubleForm has doubles whose upper words follow each other from that of 1 on, and then others of all
// exponents. The lower words are random.
func doubleForm(text string, successive int, compute func(uint64) uint64) approximateForm {
	operand := func(r *rand.Rand, i int) (a, b uint64) {
		if i < successive {
			return uint64(0x3ff00000+i)<<32 | uint64(r.Uint32()), 0
		}
		if a = r.Uint64(); i&1 != 0 && successive == 0 {
			a = a&^(0xfff<<52) | uint64(0x3f0+r.IntN(32))<<52
		}
		return a, 0
	}
	return approximateForm{
		Row: insttest.Row{Text: text, Types: "f64 f64"}, operands: successive + 1<<19, operand: operand,
		compute: func(a, _ uint64) uint64 { return compute(a) },
	}
}

// In the simulator they are those of the package, for some operands.
func TestSimulatedApproximateFormsAreThoseOfThePackage(t *testing.T) {
	d := openWith(t, Options{})
	for _, form := range approximateForms {
		form.operands = min(form.operands, 1<<16)
		in := form.rows()
		text := insttest.Module(insttest.Target{SM: 90, Major: 8, Minor: 1}, []insttest.Row{form.Row})
		out := runRows(t, d, text, [][]byte{in})[0]
		mask := insttest.Mask(strings.Fields(form.Types)[0])
		for i := range len(in) / insttest.RowBytes {
			a, b := insttest.Word(in, i, 1), insttest.Word(in, i, 2)
			got, want := insttest.Word(out, i, 0)&mask, form.compute(a, b)
			if insttest.Active(i) && got != want {
				t.Fatalf("%s of %#x, %#x is %#x, want %#x", form.Text, a, b, got, want)
			}
		}
	}
}

// The other approximations give the bits of a GPU of compute capability 9.0.
func TestGPUApproximateForms(t *testing.T) {
	gpus := gpuBackend(t, 9)
	if capability := gpuCapability(t, gpus); capability != 90 {
		t.Skipf("sm_90 is modeled, and the GPU is sm_%d", capability)
	}
	for _, form := range approximateForms {
		name, _, _ := strings.Cut(form.Text, " ")
		t.Run(name, func(t *testing.T) {
			compareApproximateForm(t, form, openFor(t, gpus), openFor(t, New(1, Options{})))
		})
	}
}

func compareApproximateForm(t *testing.T, form approximateForm, gpu, simulated cudart.Device) {
	t.Helper()
	in := form.rows()
	text := insttest.Module(insttest.Target{SM: 90, Major: 8, Minor: 1}, []insttest.Row{form.Row})
	x := runRows(t, gpu, text, [][]byte{in})[0]
	y := runRows(t, simulated, text, [][]byte{in})[0]
	width := insttest.Width(strings.Fields(form.Types)[0])
	mask := insttest.Mask(strings.Fields(form.Types)[0])
	var results []byte
	different, largest := 0, int64(0)
	for i := 0; len(results) < form.operands*width/8; i++ {
		if !insttest.Active(i) {
			continue
		}
		got, want := insttest.Word(x, i, 0)&mask, insttest.Word(y, i, 0)&mask
		results = append(results, binary.LittleEndian.AppendUint64(nil, got)[:width/8]...)
		if got == want {
			continue
		}
		difference := int64(got) - int64(want)
		largest = max(largest, difference, -difference)
		if different++; different <= 8 {
			t.Logf("%#x, %#x: %#x on the GPU, %#x here", insttest.Word(in, i, 1), insttest.Word(in, i, 2), got, want)
		}
	}
	name, _, _ := strings.Cut(form.Text, " ")
	equal := 1 - float64(different)/float64(form.operands)
	t.Logf("| `%s` | %.5f %% | %d |", name, 100*equal, largest)
	if different > 0 {
		t.Errorf("%d of %d results differ", different, form.operands)
	}
	recordResults(t, name, results)
}

// rows are the operands in memory, those of the lanes that execute the instruction.
func (f approximateForm) rows() []byte {
	r := rand.New(rand.NewPCG(7, 8))
	var rows []byte
	for i, row := 0, 0; i < f.operands || row%256 != 0; row++ {
		at := make([]byte, insttest.RowBytes)
		binary.LittleEndian.PutUint64(at, insttest.Sentinel)
		if insttest.Active(row) && i < f.operands {
			a, b := f.operand(r, i)
			binary.LittleEndian.PutUint64(at[8:], a)
			binary.LittleEndian.PutUint64(at[16:], b)
			i++
		}
		rows = append(rows, at...)
	}
	return rows
}
