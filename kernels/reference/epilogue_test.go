package reference

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/kernels/collective"
)

// fault is what an epilogue does wrong.
type fault string

// epilogueInFloat is the result of a kernel that computes in float.
type epilogueInFloat struct {
	Epilogue
	fault         fault
	row, residual []byte
	c             codec
}

func inFloat(e Epilogue, count int64, f fault) epilogueInFloat {
	size := int64(e.In.DType.Size)
	k := epilogueInFloat{
		Epilogue: e, fault: f, c: codecOf(e.In.DType), row: make([]byte, e.Row*size), residual: make([]byte, count*size),
	}
	e.FillWeight(k.row)
	e.FillResidual(k.residual)
	return k
}

func (k epilogueInFloat) load(buf []byte, i int64) float32 {
	return float32(k.c.decode(get(buf, i, k.In.DType.Size)))
}

func (k epilogueInFloat) store(buf []byte, i int64, x float32) {
	put(buf, i, k.In.DType.Size, k.c.encode(float64(x)))
}

// run gives the output and the sums with the residual added.
func (k epilogueInFloat) run() (out, residualOut []byte) {
	size := int64(k.In.DType.Size)
	count := int64(len(k.residual)) / size
	sums := k.sums(count)
	out, residualOut = make([]byte, len(k.residual)), make([]byte, len(k.residual))
	if k.Kind == collective.RMSNorm {
		for row := int64(0); row < count; row += k.Row {
			k.normalize(sums[row:row+k.Row], row, out, residualOut)
		}
		return out, residualOut
	}
	for i, x := range sums {
		switch {
		case k.fault == "nothing is done":
		case k.Kind == collective.Negate:
			x = -x
		case k.Kind == collective.Scale:
			x *= k.Scale
		default:
			x += k.load(k.row, int64(i)%k.Row)
		}
		k.store(out, int64(i), x)
	}
	return out, nil
}

func (k epilogueInFloat) sums(count int64) []float32 {
	sums := make([]float32, count)
	input := make([]byte, len(k.residual))
	for rank := range k.In.World {
		if k.fault == "in another order" {
			rank = k.In.World - 1 - rank
		}
		k.In.Fill(input, rank)
		for i := range sums {
			sums[i] += k.load(input, int64(i))
		}
	}
	return sums
}

// normalize adds squares in 64 partial sums, and those two by two.
func (k epilogueInFloat) normalize(x []float32, at int64, out, residualOut []byte) {
	var partial [64]float32
	for i := range x {
		if k.fault != "the sum is not rounded" {
			x[i] = float32(k.c.decode(k.c.encode(float64(x[i]))))
		}
		if k.fault != "no residual" {
			x[i] += k.load(k.residual, at+int64(i))
		}
		k.store(residualOut, at+int64(i), x[i])
		partial[i%64] += x[i] * x[i]
	}
	for width := 32; width > 0; width /= 2 {
		for i := range width {
			partial[i] += partial[i+width]
		}
	}
	n, epsilon := float32(len(x)), k.Epsilon
	switch k.fault {
	case "mean of n-1":
		n--
	case "no epsilon":
		epsilon = 0
	}
	factor := 1 / float32(math.Sqrt(float64(partial[0]/n+epsilon)))
	for i := range x {
		y := x[i] * factor
		if k.fault != "no weight" {
			y *= k.load(k.row, int64(i))
		}
		k.store(out, at+int64(i), y)
	}
}

// everyEpilogue is each epilogue, type and pattern.
func everyEpilogue(world int, row int64) []Epilogue {
	var all []Epilogue
	for _, kind := range collective.EpilogueKinds() {
		for _, d := range collective.EpilogueDTypes() {
			for _, p := range []Pattern{Exact, Random} {
				in := Input{Seed: 5, Pattern: p, DType: d, Op: collective.Sum, World: world}
				all = append(all, Epilogue{In: in, Kind: kind, Row: row, Scale: 0.3, Epsilon: 1e-5})
			}
		}
	}
	return all
}

func (e Epilogue) String() string {
	return fmt.Sprintf("%s of rows of %d, %v", e.Kind, e.Row, e.In)
}

func TestCorrectEpiloguesPass(t *testing.T) {
	for _, world := range []int{1, 2, 3, 8} {
		for _, row := range []int64{8, 1024, 4096} {
			for _, e := range everyEpilogue(world, row) {
				out, residualOut := inFloat(e, 8192, "").run()
				if v := e.Result(out); v.Wrong != 0 {
					t.Errorf("%v: %+v", e, v)
				}
				if v := e.ResidualOut(residualOut); v.Wrong != 0 {
					t.Errorf("%v: residual out: %+v", e, v)
				}
			}
		}
	}
}

func TestWrongEpiloguesAreFound(t *testing.T) {
	const count = 1 << 16
	for _, e := range everyEpilogue(4, 4096) {
		faults := []fault{"nothing is done"}
		if e.Kind == collective.RMSNorm {
			faults = []fault{"mean of n-1", "no residual", "no weight"}
		}
		if e.Kind == collective.RMSNorm && e.In.Pattern == Random { // exact inputs are large
			faults = append(faults, "no epsilon")
		}
		for _, f := range faults {
			out, _ := inFloat(e, count, f).run()
			if v := e.Result(out); v.Wrong < count/1000 {
				t.Errorf("%v: %s: %d of %d are found", e, f, v.Wrong, count)
			}
		}
		if e.Kind == collective.RMSNorm {
			_, sums := inFloat(e, count, "no residual").run()
			if v := e.ResidualOut(sums); v.Wrong < count/2 {
				t.Errorf("%v: the residual is missing in %d of %d", e, v.Wrong, count)
			}
		}
		if e.Kind == collective.RMSNorm && e.In.DType.Size == 2 && e.In.Pattern == Random {
			_, sums := inFloat(e, count, "the sum is not rounded").run()
			if v := e.ResidualOut(sums); v.Wrong < count/20 {
				t.Errorf("%v: a residual is added to sums that are not rounded, which shows in %d of %d", e, v.Wrong, count)
			}
		}
	}
}

// A result that is off by some units in the last place is found.
func TestEpilogueBoundsAreTight(t *testing.T) {
	const count = 8192
	for _, e := range everyEpilogue(4, 1024) {
		size, off := e.In.DType.Size, uint64(2)
		if size == 4 && (e.In.Pattern == Random || e.Kind == collective.RMSNorm) {
			off = 128 // many roundings of the same type
		}
		out, residualOut := inFloat(e, count, "").run()
		for _, buf := range [][]byte{out, residualOut} {
			for i := range int64(len(buf) / size) {
				put(buf, i, size, get(buf, i, size)^off)
			}
		}
		if v := e.Result(out); v.Wrong < count*9/10 {
			t.Errorf("%v: %d of %d are found", e, v.Wrong, count)
		}
		if v := e.ResidualOut(residualOut); residualOut != nil && v.Wrong < count*9/10 {
			t.Errorf("%v: residual out: %d of %d are found", e, v.Wrong, count)
		}
	}
}

// Parts of a buffer are judged like the whole, wherever they are cut.
func TestEpiloguesInParts(t *testing.T) {
	const count, cut = 8192, 3001
	for _, e := range everyEpilogue(3, 512) {
		size := e.In.DType.Size
		rest := e
		rest.In.First = cut
		out, _ := inFloat(e, count, "").run()
		out[100*size+size-1] ^= 0x10
		out[5000*size+size-1] ^= 0x10
		got := e.Result(out[:cut*size]).Merge(rest.Result(out[cut*size:]))
		if diff := cmp.Diff(e.Result(out), got); diff != "" || got.Wrong != 2 || got.First != 100 {
			t.Errorf("%v: %+v, %s", e, got, diff)
		}
	}
}

// In the order of the ranks, results match bit for bit, and a sum in another order is found.
func TestEpiloguesInOrder(t *testing.T) {
	const world, count = 4, 8192
	for _, e := range everyEpilogue(world, 1024) {
		if e.Kind == collective.RMSNorm || e.In.Pattern == Exact {
			continue
		}
		ordered := e
		ordered.In.Ordered = true
		right, _ := inFloat(e, count, "").run()
		if v := ordered.Result(right); v.Wrong != 0 {
			t.Errorf("%v: in order, %+v", e, v)
		}
		wrong, _ := inFloat(e, count, "in another order").run()
		if v := e.Result(wrong); v.Wrong != 0 {
			t.Errorf("%v: in another order, within bounds, %+v", e, v)
		}
		if v := ordered.Result(wrong); v.Wrong < count/100 && e.In.DType.Size == 4 {
			t.Errorf("%v: in another order, only %d of %d differ", e, v.Wrong, count)
		}
	}
}
