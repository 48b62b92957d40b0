package workload

import (
	"gpurun/kernels/matmul"
)

// ProductLayout says where the buffers of products lie on each rank, in bytes from the
// base of the symmetric memory.
type ProductLayout struct {
	// Call has the offsets of a call's buffers.
	Call matmul.Call
	// Words is the size in bytes of the counters that persist between calls, from
	// Call.Counters on.
	Words int64
	// For results that the device checks: CheckA and CheckB get inputs anew, rows of A and all
	// of B, and Quantities what the result is judged by.
	CheckA, CheckB, Quantities int64
}

// matrices is how many of the offsets are those of matrices, which have guards around them.
const matrices = 4

// offsets are those of all buffers, in the order in which they lie.
func (l *ProductLayout) offsets() []*int64 {
	c := &l.Call
	return []*int64{
		&c.A, &c.AFull, &c.B, &c.C, &c.Staging, &c.Counters, &c.Progress,
		&l.CheckA, &l.CheckB, &l.Quantities,
	}
}

// layOutProducts makes room for the largest of each buffer among all cases, on devices
// with so many multiprocessors.
func layOutProducts(p ProductPlan, world, sms int) Layout {
	scratch := int64(TokenBytes)
	sizes := make([]int64, len(new(ProductLayout).offsets()))
	for _, c := range p.Cases {
		scratch = max(scratch, Required(c.Algorithm.Scratch, c.Problem, world))
		for i, bytes := range c.bufferBytes(world) {
			sizes[i] = max(sizes[i], bytes)
		}
	}
	l := newLayout(scratch, sms)
	for i, offset := range l.Products.offsets() {
		if i < matrices {
			*offset = l.takeGuarded(sizes[i])
		} else {
			*offset = l.take(sizes[i])
		}
		if offset == &l.Products.Call.Progress {
			l.Products.Words = l.Total - l.Products.Call.Counters
		}
	}
	return l
}

// bufferBytes are the sizes of a case's buffers, in the order of ProductLayout.offsets.
func (c ProductCase) bufferBytes(world int) []int64 {
	b := c.Operation.Buffers(c.Problem, world)
	sizes := []int64{
		b.A, b.AFull, b.B, b.C, Required(c.Algorithm.Staging, c.Problem, world),
		4 * Required(c.Algorithm.Counters, c.Problem, world), matmul.ProgressBytes(world, c.Splits),
	}
	if !c.CheckedByDevice(world) {
		return append(sizes, 0, 0, 0)
	}
	rows := c.CheckedRows(world)
	return append(sizes, rows*c.Problem.K*int64(c.Problem.DType.Size), b.B, rows*c.Problem.N*matmul.QuantitiesBytes)
}

// Required is how much an algorithm requires, by a function of its own; nil is nothing.
func Required(of func(matmul.Problem, int) int64, p matmul.Problem, world int) int64 {
	if of == nil {
		return 0
	}
	return of(p, world)
}

// CheckedByDevice reports whether a kernel, and not the host, computes what the result is judged
// by.
func (c ProductCase) CheckedByDevice(world int) bool { return c.resultFlops(world) > c.hostFlops }

// resultFlops is the number of operations that a rank's result depends on.
func (c ProductCase) resultFlops(world int) int64 {
	flops := 2 * c.ResultRows(world) * c.Problem.N * c.Problem.K
	if c.Operation.Reduces && !c.LocalOnly() {
		flops *= int64(world)
	}
	return flops
}

// quantitiesBytes bounds the memory for the quantities that a result is judged by.
const quantitiesBytes = 1 << 30

// CheckedRows is how many rows of a result are checked at a time.
func (c ProductCase) CheckedRows(world int) int64 {
	return min(c.ResultRows(world), max(quantitiesBytes/(c.Problem.N*matmul.QuantitiesBytes), 1))
}
