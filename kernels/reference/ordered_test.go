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

// Sums and averages of a chain match bit for bit: partial sums are rounded to the element type, the last one is not.
// Those of another root differ, as do those that round the last sum before they divide it.
func TestChains(t *testing.T) {
	const count, world, root = 4096, 5, 1
	for _, d := range collective.EpilogueDTypes() {
		for _, op := range []collective.Op{collective.Sum, collective.Avg} {
			in := Input{Seed: 7, Pattern: Random, DType: d, Op: op, World: world, Chain: true, Root: root}
			if v := in.Reduced(addedInChain(in, count, false)); v.Wrong != 0 {
				t.Errorf("%s of %s: %+v", op, d.Name, v)
			}
			other := in
			other.Root = root + 1
			if v := in.Reduced(addedInChain(other, count, false)); v.Wrong < count/100 {
				t.Errorf("%s of %s: with another root, only %d of %d differ", op, d.Name, v.Wrong, count)
			}
			if v := in.Reduced(addedInChain(in, count, true)); op == collective.Avg && d.Size < 4 && v.Wrong < count/100 {
				t.Errorf("%s of %s: with the last sum rounded, only %d of %d differ", op, d.Name, v.Wrong, count)
			}
		}
	}
}

// addedInChain adds the ranks' inputs in float, from the rank behind the root on, and rounds each partial sum. The last
// sum may be rounded as well.
func addedInChain(in Input, count int64, roundsLast bool) []byte {
	size, c := in.DType.Size, codecOf(in.DType)
	out, buf := make([]byte, count*int64(size)), make([]byte, count*int64(size))
	sums := make([]float32, count)
	for k := range in.World {
		in.Fill(buf, (in.Root+1+k)%in.World)
		for i := range count {
			sums[i] += float32(c.decode(get(buf, i, size)))
			if k < in.World-1 || roundsLast {
				sums[i] = float32(c.decode(c.encode(float64(sums[i]))))
			}
		}
	}
	for i := range count {
		if in.Op == collective.Avg {
			sums[i] /= float32(in.World)
		}
		put(out, i, size, c.encode(float64(sums[i])))
	}
	return out
}
