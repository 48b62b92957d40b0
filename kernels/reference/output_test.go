package reference

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/kernels"
	"gpurun/kernels/collective"
)

// What every collective of the catalog gives a rank of three, with root 2 and parts of
// ten elements.
func TestOutput(t *testing.T) {
	untouched := []Segment{{0, 10, Untouched, 0, 0}, {10, 10, Untouched, 0, 0}, {20, 10, Untouched, 0, 0}}
	gathered := []Segment{{0, 10, Copied, 0, 0}, {10, 10, Copied, 1, 0}, {20, 10, Copied, 2, 0}}
	seen := map[string]bool{}
	for _, tt := range []struct {
		collective string
		rank       int
		inPlace    bool
		want       []Segment
	}{
		{"allreduce", 1, false, []Segment{{0, 10, Reduced, 0, 0}}},
		{"reduce", 1, false, []Segment{{0, 10, Untouched, 0, 0}}},
		{"reduce", 1, true, []Segment{{0, 10, Copied, 1, 0}}},
		{"reduce", 2, false, []Segment{{0, 10, Reduced, 0, 0}}},
		{"reducescatter", 1, false, []Segment{{0, 10, Reduced, 0, 10}}},
		{"broadcast", 0, false, []Segment{{0, 10, Copied, 2, 0}}},
		{"allgather", 1, false, gathered},
		{"alltoall", 1, false, []Segment{{0, 10, Copied, 0, 10}, {10, 10, Copied, 1, 10}, {20, 10, Copied, 2, 10}}},
		{"gather", 2, false, gathered},
		{"gather", 2, true, gathered},
		{"gather", 1, false, untouched},
		{"gather", 1, true, []Segment{untouched[0], {10, 10, Copied, 1, 0}, untouched[2]}},
		{"scatter", 1, false, []Segment{{0, 10, Copied, 2, 10}}},
		{"scatter", 1, true, []Segment{{0, 10, Copied, 2, 10}}},
		{"barrier", 1, false, nil},
	} {
		c, ok := kernels.Find(tt.collective)
		if !ok {
			t.Errorf("there is no %s", tt.collective)
			continue
		}
		seen[c.Name] = true
		if diff := cmp.Diff(tt.want, Output(c.Shape, tt.rank, 3, 2, 10, tt.inPlace)); diff != "" {
			t.Errorf("%s, rank %d, in place %t: %s", tt.collective, tt.rank, tt.inPlace, diff)
		}
	}
	for _, c := range kernels.Collectives() {
		if !seen[c.Name] {
			t.Errorf("nothing is said here of what %s gives", c.Name)
		}
	}
}

// Every collective of the catalog has an output as large as its shape says, on
// every rank, and reduces if its shape does.
func TestOutputsFitTheCatalog(t *testing.T) {
	const world, root, count = 5, 3, 7
	for _, c := range kernels.Collectives() {
		for rank := range world {
			var at int64
			sources := map[Source]bool{}
			for _, s := range Output(c.Shape, rank, world, root, count, false) {
				if s.At != at {
					t.Errorf("%s: a segment begins at %d, not %d", c.Name, s.At, at)
				}
				at += s.Count
				sources[s.Source] = true
			}
			want := count * c.Shape.Recv.Of(world)
			if c.Shape.Empty {
				want = 0
			}
			receives := c.Shape.Receives(rank, root)
			if at != want || sources[Reduced] != (receives && c.Shape.Reduces) || sources[Untouched] == receives {
				t.Errorf("%s, rank %d: %d elements, of sources %v; its shape is %+v", c.Name, rank, at, sources, c.Shape)
			}
		}
	}
}

func TestCopiesMatchBitForBit(t *testing.T) {
	const count, first = 100, 40
	for _, in := range everyInput(3) {
		size := in.DType.Size
		in.First = first
		got := make([]byte, count*size)
		in.Fill(got, 2)
		if v := in.From(2, got); v.Wrong != 0 {
			t.Errorf("%v: %+v", in, v)
		}
		if v := in.From(1, got); v.Wrong < count/10 {
			t.Errorf("%v: another rank's input differs in %d of %d", in, v.Wrong, count)
		}
		bad := append([]byte(nil), got...)
		bad[30*size+size-1] ^= 0x80
		want := Verdict{Wrong: 1, First: first + 30, Want: get(got, 30, size), Got: get(bad, 30, size)}
		if diff := cmp.Diff(want, in.From(2, bad)); diff != "" {
			t.Errorf("%v: %s", in, diff)
		}
	}
}

// sumInHalf adds 8-bit floats as multimem does, rounding to half each time.
func sumInHalf(in Input, i int64) uint64 {
	half, number := codecOf(collective.Half), in.numbers()
	sum := number(0, i)
	for rank := 1; rank < in.World; rank++ {
		sum = half.decode(half.encode(sum + number(rank, i)))
	}
	return codecOf(in.DType).encode(sum)
}

// Sums in half are within the bound for half, and left by a step of the type
// they are not.
func TestSumsInHalf(t *testing.T) {
	const count = 1 << 16
	for _, d := range []collective.DType{collective.F8E4M3, collective.F8E5M2} {
		in := Input{Seed: 3, Pattern: Random, DType: d, Op: collective.Sum, World: 16, Accumulator: collective.Half}
		good, off := make([]byte, count), make([]byte, count)
		for i := range int64(count) {
			good[i] = byte(sumInHalf(in, i))
			off[i] = good[i] ^ 2
		}
		if v := in.Reduced(good); v.Wrong != 0 {
			t.Errorf("%v: %+v", in, v)
		}
		if v := in.Reduced(off); v.Wrong < count*3/4 {
			t.Errorf("%v: a flipped bit is found in %d of %d", in, v.Wrong, count)
		}
		if got := in.unit(); got != 1.0/2048 {
			t.Errorf("%v: the unit is %v", in, got)
		}
	}
}
