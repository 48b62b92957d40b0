package reference

import (
	"testing"

	"gpurun/kernels/collective"
)

// Sums in the order of the ranks match bit for bit. In any other order some differ, which the bounds allow.
func TestOrderedSums(t *testing.T) {
	const count, world = 4096, 4
	for _, d := range []collective.DType{collective.Float, collective.Double, collective.BFloat16, collective.Half} {
		in := Input{Seed: 7, Pattern: Random, DType: d, Op: collective.Sum, World: world}
		ordered := in
		ordered.Ordered = true
		forward, backward := addedInOrder(in, count, []int{0, 1, 2, 3}), addedInOrder(in, count, []int{3, 2, 1, 0})
		for _, right := range [][]byte{forward, backward} {
			if v := in.Reduced(right); v.Wrong != 0 {
				t.Errorf("%s: within bounds, %d are wrong", d.Name, v.Wrong)
			}
		}
		if v := ordered.Reduced(forward); v.Wrong != 0 {
			t.Errorf("%s: in the order of the ranks, %+v", d.Name, v)
		}
		if v := ordered.Reduced(backward); v.Wrong < count/100 && d.Size >= 4 {
			t.Errorf("%s: in another order, only %d of %d differ", d.Name, v.Wrong, count)
		}
	}
}

// addedInOrder adds the ranks' inputs in an order, in float, or double for doubles.
func addedInOrder(in Input, count int64, order []int) []byte {
	size, c := in.DType.Size, codecOf(in.DType)
	out, buf := make([]byte, count*int64(size)), make([]byte, count*int64(size))
	sums, doubles := make([]float32, count), make([]float64, count)
	for _, rank := range order {
		in.Fill(buf, rank)
		for i := range count {
			x := c.decode(get(buf, i, size))
			sums[i] += float32(x)
			doubles[i] += x
		}
	}
	for i := range count {
		x := float64(sums[i])
		if size == 8 {
			x = doubles[i]
		}
		put(out, i, size, c.encode(x))
	}
	return out
}
