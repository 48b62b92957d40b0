package reference

import (
	"bytes"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gpurun/kernels/collective"
)

// sumInOrder adds the ranks' inputs in fp32, in rank order, as a kernel would.
func sumInOrder(in Input, count int64) []byte {
	c := codecOf(in.DType)
	inputs := make([][]byte, in.World)
	for r := range inputs {
		inputs[r] = make([]byte, count*int64(c.size))
		in.Fill(inputs[r], r)
	}
	out := make([]byte, count*int64(c.size))
	for i := range count {
		sum := float32(c.decode(c.bits(inputs[0], i)))
		for _, input := range inputs[1:] {
			sum += float32(c.decode(c.bits(input, i)))
		}
		c.store(out, i, sum)
	}
	return out
}

func TestCorrectSumsPass(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		in := Input{
			Seed:    rapid.Uint64().Draw(t, "seed"),
			Pattern: rapid.SampledFrom([]Pattern{Exact, Random}).Draw(t, "pattern"),
			DType:   rapid.SampledFrom(collective.DTypes()).Draw(t, "dtype"),
			World:   rapid.IntRange(1, collective.MaxRanks).Draw(t, "world"),
		}
		count := rapid.Int64Range(0, 300).Draw(t, "count")
		if v := in.AllReduceSum(sumInOrder(in, count)); v.Wrong != 0 {
			t.Fatalf("%+v: %+v", in, v)
		}
	})
}

// Every flipped bit of an exact result is found, and only that.
func TestExactFindsEveryFlippedBit(t *testing.T) {
	for _, d := range collective.DTypes() {
		in := Input{Seed: 7, Pattern: Exact, DType: d, World: 4}
		good := sumInOrder(in, 50)
		for bit := range len(good) * 8 {
			bad := append([]byte(nil), good...)
			bad[bit/8] ^= 1 << (bit % 8)
			i := int64(bit / 8 / d.Size)
			c := codecOf(d)
			want := Verdict{Wrong: 1, First: i, Want: c.bits(good, i), Got: c.bits(bad, i)}
			if diff := cmp.Diff(want, in.AllReduceSum(bad)); diff != "" {
				t.Fatalf("%s, bit %d: %s", d.Name, bit, diff)
			}
		}
	}
}

// A buffer in parts is filled and judged like the whole.
func TestPartsMakeTheWhole(t *testing.T) {
	const count, cut = 1000, 333
	for _, d := range collective.DTypes() {
		in := Input{Seed: 5, Pattern: Random, DType: d, World: 3}
		rest := in
		rest.First = cut
		whole, parts := make([]byte, count*d.Size), make([]byte, count*d.Size)
		in.Fill(whole, 1)
		in.Fill(parts[:cut*d.Size], 1)
		rest.Fill(parts[cut*d.Size:], 1)
		if !bytes.Equal(whole, parts) {
			t.Errorf("%s: the parts differ from the whole", d.Name)
		}
		sums := sumInOrder(in, count)
		sums[10*d.Size+d.Size-1] ^= 0x40
		sums[700*d.Size+d.Size-1] ^= 0x40
		first, second := in.AllReduceSum(sums[:cut*d.Size]), rest.AllReduceSum(sums[cut*d.Size:])
		if second.Wrong != 1 || second.First != 700 {
			t.Errorf("%s: the second part: %+v", d.Name, second)
		}
		if diff := cmp.Diff(in.AllReduceSum(sums), first.Merge(second)); diff != "" {
			t.Errorf("%s: (-whole +parts)\n%s", d.Name, diff)
		}
	}
}

// The bound is tight enough that leaving out a rank (unless its element is no more
// than a rounding) or an
// error of 16 units in the last place is seen.
func TestRandomBoundIsTight(t *testing.T) {
	for _, d := range collective.DTypes() {
		in := Input{Seed: 3, Pattern: Random, DType: d, World: 4}
		const count = 4096
		fewer := in
		fewer.World = 3
		if v := in.AllReduceSum(sumInOrder(fewer, count)); v.Wrong < count*95/100 {
			t.Errorf("%s: without rank 3 only %d of %d were found wrong", d.Name, v.Wrong, count)
		}
		off := sumInOrder(in, count)
		for i := range count {
			off[i*d.Size] ^= 1 << 4 // 16 units in the last place
		}
		if v := in.AllReduceSum(off); v.Wrong < count*3/4 {
			t.Errorf("%s: 16 units in the last place: only %d of %d were found wrong", d.Name, v.Wrong, count)
		}
	}
}

func TestNaNIsWrong(t *testing.T) {
	for _, p := range []Pattern{Exact, Random} {
		in := Input{Pattern: p, DType: collective.Float, World: 2}
		buf := sumInOrder(in, 10)
		codecOf(in.DType).store(buf, 3, float32(math.NaN()))
		if v := in.AllReduceSum(buf); v.Wrong != 1 || v.First != 3 {
			t.Errorf("pattern %d: %+v", p, v)
		}
	}
}

// Inputs differ from rank to rank, place to place and seed to seed, are exact
// in their type, and reach every sign and binade that they should.
func TestInputsAreVaried(t *testing.T) {
	for _, d := range collective.DTypes() {
		for _, p := range []Pattern{Exact, Random} {
			in := Input{Seed: 1, Pattern: p, DType: d, World: 8}
			c := codecOf(d)
			distinct := map[float32]bool{}
			negative := 0
			for i := range int64(2000) {
				x := in.at(2, i)
				if got := float32(c.decode(c.encode(x))); got != x {
					t.Fatalf("%s: %v became %v", d.Name, x, got)
				}
				distinct[x] = true
				if x < 0 {
					negative++
				}
			}
			if least := min(60, int(in.largest())); len(distinct) < least || negative < 800 || negative > 1200 {
				t.Errorf("%s pattern %d: %d distinct values, %d negative of 2000", d.Name, p, len(distinct), negative)
			}
			other := in
			other.Seed = 2
			if in.at(0, 5) == in.at(1, 5) && in.at(0, 6) == in.at(1, 6) && in.at(0, 7) == in.at(1, 7) {
				t.Errorf("%s: ranks 0 and 1 have the same input", d.Name)
			}
			if in.at(0, 5) == other.at(0, 5) && in.at(0, 6) == other.at(0, 6) && in.at(0, 7) == other.at(0, 7) {
				t.Errorf("%s: seeds 1 and 2 give the same input", d.Name)
			}
		}
	}
}

// The widest rounding of bfloat16 and half agrees with independent arithmetic.
func TestEncodeRoundsToNearestEven(t *testing.T) {
	for _, tt := range []struct {
		d    collective.DType
		f    float32
		want uint32
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
		{collective.Half, float32(math.Ldexp(1, -24)), 1}, // the smallest
		{collective.Half, float32(math.Ldexp(1, -25)), 0}, // half of it, to even
		{collective.Float, -2.5, math.Float32bits(-2.5)},
	} {
		if got := codecOf(tt.d).encode(tt.f); got != tt.want {
			t.Errorf("%s(%v) = %#x, want %#x", tt.d.Name, tt.f, got, tt.want)
		}
	}
}

func BenchmarkAllReduceSum(b *testing.B) {
	in := Input{Seed: 1, Pattern: Exact, DType: collective.Float, World: 8}
	got := make([]byte, 1<<20)
	b.SetBytes(int64(len(got)))
	for b.Loop() {
		in.AllReduceSum(got)
	}
}
