package reference

import (
	"bytes"
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gpurun/kernels/collective"
)

// number is a type that a kernel computes in.
type number interface {
	~int32 | ~uint32 | ~int64 | ~uint64 | ~float32 | ~float64
}

// reduceInOrder reduces the ranks' inputs in rank order, in the type W, as a
// kernel would. load reads an element's bits, and store makes them.
func reduceInOrder[W number](in Input, count int64, load func(uint64) W, store func(W) uint64) []byte {
	size := in.DType.Size
	inputs := make([][]byte, in.World)
	for r := range inputs {
		inputs[r] = make([]byte, count*int64(size))
		in.Fill(inputs[r], r)
	}
	out := make([]byte, count*int64(size))
	for i := range count {
		w := load(get(inputs[0], i, size))
		for _, input := range inputs[1:] {
			x := load(get(input, i, size))
			switch in.Op {
			case collective.Prod:
				w *= x
			case collective.Min:
				w = min(w, x)
			case collective.Max:
				w = max(w, x)
			default:
				w += x
			}
		}
		if in.Op == collective.Avg {
			w /= W(in.World)
		}
		put(out, i, size, store(w))
	}
	return out
}

// correct is the result of a correct kernel.
func correct(in Input, count int64) []byte {
	switch in.DType.Name {
	case "int8":
		return reduceInOrder(in, count, func(b uint64) int32 { return int32(int8(b)) },
			func(w int32) uint64 { return uint64(w) })
	case "uint8":
		return reduceInOrder(in, count, func(b uint64) uint32 { return uint32(b) },
			func(w uint32) uint64 { return uint64(w) })
	case "int32":
		return reduceInOrder(in, count, func(b uint64) int32 { return int32(b) }, func(w int32) uint64 { return uint64(w) })
	case "uint32":
		return reduceInOrder(in, count, func(b uint64) uint32 { return uint32(b) },
			func(w uint32) uint64 { return uint64(w) })
	case "int64":
		return reduceInOrder(in, count, func(b uint64) int64 { return int64(b) }, func(w int64) uint64 { return uint64(w) })
	case "uint64":
		return reduceInOrder(in, count, func(b uint64) uint64 { return b }, func(w uint64) uint64 { return w })
	case "double":
		return reduceInOrder(in, count, math.Float64frombits, math.Float64bits)
	}
	c := codecOf(in.DType)
	return reduceInOrder(in, count,
		func(b uint64) float32 { return float32(c.decode(b)) },
		func(w float32) uint64 { return c.encode(float64(w)) })
}

func (in Input) String() string {
	return fmt.Sprintf("%s %s, %d ranks, pattern %d, seed %d", in.Op, in.DType.Name, in.World, in.Pattern, in.Seed)
}

func TestCorrectResultsPass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := Input{
			Seed:    rapid.Uint64().Draw(t, "seed"),
			Pattern: rapid.SampledFrom([]Pattern{Exact, Random}).Draw(t, "pattern"),
			DType:   rapid.SampledFrom(collective.DTypes()).Draw(t, "dtype"),
			Op:      rapid.SampledFrom(collective.Ops()).Draw(t, "op"),
			World:   rapid.IntRange(1, collective.MaxRanks).Draw(t, "world"),
		}
		count := rapid.Int64Range(0, 300).Draw(t, "count")
		if v := in.Reduced(correct(in, count)); v.Wrong != 0 {
			t.Fatalf("%v: %+v", in, v)
		}
	})
}

// Where all ranks' doubles have one sign and every addition rounds the same way,
// the reference's own rounding decides: seen in a sum of millions of elements.
func TestDoublesAtTheBound(t *testing.T) {
	in := Input{Seed: 1, Pattern: Random, DType: collective.Double, Op: collective.Sum, World: 4, First: 376524}
	if v := in.Reduced(correct(in, 1)); v.Wrong != 0 {
		t.Errorf("%+v", v)
	}
}

// everyInput is each type, operation and pattern for so many ranks.
func everyInput(world int) []Input {
	var all []Input
	for _, d := range collective.DTypes() {
		for _, op := range collective.Ops() {
			for _, p := range []Pattern{Exact, Random} {
				all = append(all, Input{Seed: 7, Pattern: p, DType: d, Op: op, World: world})
			}
		}
	}
	return all
}

// bitwise reports whether results must match to the bit.
func (in Input) bitwise() bool {
	return in.Pattern == Exact || in.DType.Kind != collective.FloatingPoint || in.Op == collective.Min ||
		in.Op == collective.Max
}

// Every flipped bit is found where results must match to the bit, and only that.
func TestEveryFlippedBitIsFound(t *testing.T) {
	for _, in := range everyInput(4) {
		if !in.bitwise() {
			continue
		}
		size := in.DType.Size
		good := correct(in, 20)
		for bit := range len(good) * 8 {
			bad := append([]byte(nil), good...)
			bad[bit/8] ^= 1 << (bit % 8)
			i := int64(bit / 8 / size)
			if in.DType.Kind == collective.FloatingPoint && get(good, i, size) == 0 && bit%(8*size) == 8*size-1 {
				continue // -0
			}
			want := Verdict{Wrong: 1, First: i, Want: get(good, i, size), Got: get(bad, i, size)}
			if diff := cmp.Diff(want, in.Reduced(bad)); diff != "" {
				t.Fatalf("%v, bit %d: %s", in, bit, diff)
			}
		}
	}
}

// The sign of a zero matters only where ranks are reduced in order.
func TestNegativeZeros(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		for _, d := range []collective.DType{collective.Half, collective.BFloat16} {
			in := Input{Seed: 7, DType: d, Op: collective.Sum, World: 2, Ordered: ordered}
			good, zeros, size := correct(in, 2000), 0, d.Size
			for i := range int64(2000) {
				if get(good, i, size) == 0 {
					put(good, i, size, 1<<(8*size-1))
					zeros++
				}
			}
			wrong := int64(0)
			if ordered {
				wrong = int64(zeros)
			}
			if v := in.Reduced(good); zeros == 0 || v.Wrong != wrong {
				t.Errorf("%s, ordered %t: %d of %d zeros are wrong, not %d", d.Name, ordered, v.Wrong, zeros, wrong)
			}
		}
	}
}

// A buffer in parts is filled and judged like the whole.
func TestPartsMakeTheWhole(t *testing.T) {
	const count, cut = 1000, 333
	for _, in := range everyInput(3) {
		size := in.DType.Size
		rest := in
		rest.First = cut
		whole, parts := make([]byte, count*size), make([]byte, count*size)
		in.Fill(whole, 1)
		in.Fill(parts[:cut*size], 1)
		rest.Fill(parts[cut*size:], 1)
		if !bytes.Equal(whole, parts) {
			t.Errorf("%v: the parts differ from the whole", in)
		}
		results := correct(in, count)
		results[10*size+size-1] ^= 0x40
		results[700*size+size-1] ^= 0x40
		first, second := in.Reduced(results[:cut*size]), rest.Reduced(results[cut*size:])
		if second.Wrong != 1 || second.First != 700 {
			t.Errorf("%v: the second part: %+v", in, second)
		}
		if diff := cmp.Diff(in.Reduced(results), first.Merge(second)); diff != "" {
			t.Errorf("%v: (-whole +parts)\n%s", in, diff)
		}
	}
}

// The bounds are tight enough to find a left-out rank, unless its contribution is no more than a
// rounding.
func TestLeavingOutARankIsSeen(t *testing.T) {
	const count = 4096
	for _, in := range everyInput(4) {
		fewer := in
		fewer.World = 3
		got := correct(fewer, count)
		wrong := in.Reduced(got).Wrong
		// How many results really differ; 3 of 4 do for extrema even less often.
		differ := int64(0)
		good := correct(in, count)
		for i := range int64(count) {
			if get(got, i, in.DType.Size) != get(good, i, in.DType.Size) {
				differ++
			}
		}
		least := differ
		if !in.bitwise() {
			least = differ / 2 // the others are within the bound
		}
		if wrong < least || differ < count/20 {
			t.Errorf("%v: without rank 3, %d of %d differ and %d were found wrong", in, differ, count, wrong)
		}
	}
}

// An error of some units in the last place is seen in random sums.
func TestRandomBoundsAreTight(t *testing.T) {
	const count = 4096
	for _, in := range everyInput(4) {
		if in.bitwise() {
			continue
		}
		size := in.DType.Size
		bit := uint(4) // 16 units in the last place
		if size == 1 {
			bit = 1 // the smaller types have no more to flip
		}
		off := correct(in, count)
		for i := range int64(count) {
			put(off, i, size, get(off, i, size)^1<<bit)
		}
		if v := in.Reduced(off); v.Wrong < count*3/4 {
			t.Errorf("%v: bit %d flipped: only %d of %d were found wrong", in, bit, v.Wrong, count)
		}
	}
}

func TestNaNIsWrong(t *testing.T) {
	for _, in := range everyInput(2) {
		if in.DType.Kind != collective.FloatingPoint {
			continue
		}
		buf := correct(in, 10)
		put(buf, 3, in.DType.Size, codecOf(in.DType).encode(math.NaN()))
		if v := in.Reduced(buf); v.Wrong != 1 || v.First != 3 {
			t.Errorf("%v: %+v", in, v)
		}
	}
}

// Inputs differ from rank to rank, place to place and seed to seed, and floats
// are exact in their type and of both signs.
func TestInputsAreVaried(t *testing.T) {
	const count = 2000
	for _, in := range everyInput(8) {
		size := in.DType.Size
		inputs := map[string][]byte{}
		for name, who := range map[string]struct {
			rank int
			seed uint64
		}{"rank 0": {0, 1}, "rank 1": {1, 1}, "seed 2": {0, 2}} {
			other := in
			other.Seed = who.seed
			inputs[name] = make([]byte, count*size)
			other.Fill(inputs[name], who.rank)
		}
		for _, name := range []string{"rank 1", "seed 2"} {
			if same := equalElements(inputs["rank 0"], inputs[name], size); same > count*3/4 {
				t.Errorf("%v: %s has %d of %d elements as rank 0", in, name, same, count)
			}
		}
		checkNumbers(t, in)
	}
}

func checkNumbers(t *testing.T, in Input) {
	t.Helper()
	if in.DType.Kind != collective.FloatingPoint {
		return
	}
	c, number := codecOf(in.DType), in.numbers()
	negative := 0
	for i := range int64(2000) {
		x := number(2, i)
		if got := c.decode(c.encode(x)); got != x {
			t.Fatalf("%v: %v became %v", in, x, got)
		}
		if x < 0 {
			negative++
		}
	}
	if negative < 500 || negative > 1200 {
		t.Errorf("%v: %d of 2000 are negative", in, negative)
	}
}

func equalElements(a, b []byte, size int) int {
	same := 0
	for i := range int64(len(a) / size) {
		if get(a, i, size) == get(b, i, size) {
			same++
		}
	}
	return same
}

// Encoding agrees with bits worked out by hand.
func TestEncodeRoundsToNearestEven(t *testing.T) {
	for _, tt := range []struct {
		d    collective.DType
		f    float64
		want uint64
	}{
		{collective.BFloat16, 1, 0x3f80},
		{collective.BFloat16, 1 + 1.0/256, 0x3f80},        // half way, down to even
		{collective.BFloat16, 1 + 3.0/256, 0x3f82},        // half way, up to even
		{collective.BFloat16, 1 + 1.0/256 + 1e-6, 0x3f81}, // just above half way
		{collective.BFloat16, math.MaxFloat32, 0x7f80},    // to infinity
		{collective.Half, 1 + 1.0/2048, 0x3c00},           // half way, down to even
		{collective.Half, 1 + 3.0/2048, 0x3c02},           // half way, up to even
		{collective.Half, 65519, 0x7bff},                  // the largest
		{collective.Half, 65520, 0x7c00},                  // to infinity
		{collective.Half, math.Ldexp(1, -24), 1},          // the smallest
		{collective.Half, math.Ldexp(1, -25), 0},          // half of it, to even
		{collective.Float, -2.5, uint64(math.Float32bits(-2.5))},
		{collective.F8E4M3, 1, 0x38},
		{collective.F8E4M3, 448, 0x7e},             // the largest
		{collective.F8E4M3, 1e9, 0x7e},             // saturates
		{collective.F8E4M3, -448, 0xfe},            //
		{collective.F8E4M3, math.Ldexp(1, -9), 1},  // the smallest
		{collective.F8E4M3, math.Ldexp(1, -10), 0}, // half of it, to even
		{collective.F8E4M3, math.Ldexp(3, -10), 2}, // half way, up to even
		{collective.F8E4M3, 17, 0x58},              // half way between 16 and 18
		{collective.F8E4M3, math.Copysign(0, -1), 0x80},
		{collective.F8E5M2, 1, 0x3c},
		{collective.F8E5M2, 57344, 0x7b},           // the largest
		{collective.F8E5M2, 61440, 0x7b},           // saturates
		{collective.F8E5M2, math.Ldexp(1, -16), 1}, // the smallest
		{collective.F8E5M2, 1.125, 0x3c},           // half way, down to even
		{collective.F8E5M2, 1.375, 0x3e},           // half way, up to even
	} {
		if got := codecOf(tt.d).encode(tt.f); got != tt.want {
			t.Errorf("%s(%v) = %#x, want %#x", tt.d.Name, tt.f, got, tt.want)
		}
	}
}

// The reference supports every type of the catalog, and refuses a float type that it does not support.
func TestUnknownTypesAreRefused(t *testing.T) {
	for _, d := range collective.DTypes() {
		if err := Check(d); err != nil {
			t.Error(err)
		}
	}
	unknown := collective.DType{Name: "f8e8m0", Size: 1, Kind: collective.FloatingPoint}
	if err := Check(unknown); err == nil || err.Error() != "the reference does not know the element type f8e8m0" {
		t.Errorf("got %v", err)
	}
}

func BenchmarkReduced(b *testing.B) {
	for _, d := range []collective.DType{
		collective.Float, collective.BFloat16, collective.Int8, collective.F8E4M3, collective.Double,
	} {
		for _, p := range []Pattern{Exact, Random} {
			in := Input{Seed: 1, Pattern: p, DType: d, Op: collective.Sum, World: 8}
			b.Run(fmt.Sprintf("%s/%d", d.Name, p), func(b *testing.B) {
				got := make([]byte, 1<<20)
				b.SetBytes(int64(len(got)))
				for b.Loop() {
					in.Reduced(got)
				}
			})
		}
	}
}

// put stores the lower bits of element i.
func put(buf []byte, i int64, size int, bits uint64) {
	putAll(buf[i*int64(size):], size, []uint64{bits})
}
