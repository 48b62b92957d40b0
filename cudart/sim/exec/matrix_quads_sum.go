package exec

// An H200 does not use its tensor cores for mma.m8n8k4 of .f16: it computes in singles. A product of halves is exact
// in a single, and each sum is rounded to nearest even. The orders of the additions are those that explain its
// results. Those of other GPUs have not been measured.

// quadSum adds products of halves to the bits of an accumulator.
func (m *mmaInst) quadSum(a, b []float32, start uint64) uint64 {
	if m.halfD {
		return quadSumHalf(a, b, start)
	}
	c := f32(start)
	if m.halfC {
		c = float32(binary16.decode(start))
	}
	return f32bits(quadSumSingle(a, b, c))
}

// quadSumSingle adds the products to +0 in the order of K, and their sum to c.
func quadSumSingle(a, b []float32, c float32) float32 {
	var sum float32
	for k := range a {
		sum = fma32(a[k], b[k], sum)
	}
	return sum + c
}

// quadSumHalf adds the sum of the first two products to the half, then the sum of the last two. The total is rounded
// again, to a half. The measurements leave open whether the half and the first two products are rounded once, or
// added in another order. That changes about one of 10^5 sums.
func quadSumHalf(a, b []float32, start uint64) uint64 {
	pair := func(k int) float32 { return fma32(a[k+1], b[k+1], a[k]*b[k]) }
	sum := pair(0) + float32(binary16.decode(start))
	return binary16.encode(float64(sum+pair(2)), toNearestEven)
}
