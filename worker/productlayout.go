package worker

import (
	"gpurun/kernels/matmul"
)

// productLayout says where the buffers of products lie on each rank, in bytes from the
// base of the symmetric memory.
type productLayout struct {
	// call has the offsets of all that a call has.
	call matmul.Call
	// words is how many bytes of words last from call to call, from call.Counters on.
	words int64
	// For what is checked by the device: inputs are copied there, rows of A and all of B, and
	// quantities written.
	checkA, checkB, quantities int64
}

// offsets are those of buffers that lie together.
func (l *productLayout) offsets() []*int64 {
	c := &l.call
	return []*int64{
		&c.A, &c.AFull, &c.B, &c.C, &c.Staging, &c.Counters, &c.Progress,
		&l.checkA, &l.checkB, &l.quantities,
	}
}

// layOutProducts makes room for the largest of each buffer among all cases, on devices
// with so many multiprocessors.
func layOutProducts(p products, world, sms int) layout {
	scratch := int64(tokenBytes)
	sizes := make([]int64, len(new(productLayout).offsets()))
	for _, c := range p.cases {
		scratch = max(scratch, amount(c.algorithm.Scratch, c.problem, world))
		for i, bytes := range c.bufferBytes(world) {
			sizes[i] = max(sizes[i], bytes)
		}
	}
	l := newLayout(scratch, sms)
	for i, offset := range l.products.offsets() {
		*offset = l.take(sizes[i])
		if offset == &l.products.call.Progress {
			l.products.words = l.total - l.products.call.Counters
		}
	}
	return l
}

// bufferBytes are the sizes of what a case needs, in the order of
// productLayout.offsets.
func (c productCase) bufferBytes(world int) []int64 {
	b := c.operation.Buffers(c.problem, world)
	sizes := []int64{
		b.A, b.AFull, b.B, b.C, amount(c.algorithm.Staging, c.problem, world),
		4 * amount(c.algorithm.Counters, c.problem, world), matmul.ProgressBytes(world, c.splits),
	}
	if !c.checkedByDevice(world) {
		return append(sizes, 0, 0, 0)
	}
	rows := c.checkedRows(world)
	return append(sizes, rows*c.problem.K*int64(c.problem.DType.Size), b.B, rows*c.problem.N*matmul.QuantitiesBytes)
}

// amount is what an algorithm needs of something.
func amount(of func(matmul.Problem, int) int64, p matmul.Problem, world int) int64 {
	if of == nil {
		return 0
	}
	return of(p, world)
}

// checkedByDevice reports whether a kernel works out what the result is judged by.
func (c productCase) checkedByDevice(world int) bool { return c.resultFlops(world) > c.hostFlops }

// resultFlops is the number of operations that a rank's result depends on.
func (c productCase) resultFlops(world int) int64 {
	flops := 2 * c.resultRows(world) * c.problem.N * c.problem.K
	if c.operation.Reduces && !c.localOnly() {
		flops *= int64(world)
	}
	return flops
}

// quantitiesBytes bounds the memory for what the elements of a result are judged by.
const quantitiesBytes = 1 << 30

// checkedRows is how many rows of a result are checked at a time.
func (c productCase) checkedRows(world int) int64 {
	return min(c.resultRows(world), max(quantitiesBytes/(c.problem.N*matmul.QuantitiesBytes), 1))
}
