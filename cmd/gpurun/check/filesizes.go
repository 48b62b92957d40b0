package check

import (
	"slices"

	"gpurun/kernels/checktask"
	"gpurun/kernels/kernelfile"
)

// largerSizes are in bytes. Without --sizes a kernel file's calls have the first of defaultSizes, and the first two of
// these with whose larger one a kernel has more than two blocks: --max-blocks does not bound its grid, and a check
// takes time by the size. Behind them come those of defaultSizes.
var largerSizes = [][]int64{{2048, 4116}, {4096, 8212}}

// sizesOf are the sizes of a kernel file's calls.
func (p *Plan) sizesOf(f *kernelfile.File, b *kernelfile.Bundle, k checktask.Calls, world int) []int64 {
	o := p.options
	if o.changed("sizes") {
		return o.Sizes
	}
	for _, larger := range largerSizes {
		if mostBlocks(f, b, k, larger[1], world) > 2 {
			return append(o.Sizes[:1:1], larger...)
		}
	}
	return o.Sizes
}

// makeUneven gives the calls of the first size parts that are no multiple of 16 bytes, where buffers have several
// parts: the kernel file takes any count.
func (c *plannedCase) makeUneven(size int64) {
	count, ok := c.calls.UnevenCount(size, c.world)
	if ok && !slices.Contains(c.calls.Counts, count) {
		c.calls.Counts = append([]int64{count}, c.calls.Counts[1:]...)
		c.command.Counts = c.calls.Counts
	}
}

// mostBlocks is the largest grid of a call of a size, by rank 0; 0 where the file does not take the call.
func mostBlocks(f *kernelfile.File, b *kernelfile.Bundle, k checktask.Calls, size int64, world int) (most int64) {
	counts, err := k.CountsFor([]int64{size}, world, false)
	if err != nil {
		return 0
	}
	part := counts[0] * int64(k.DType.Size)
	call := kernelfile.Call{
		World: world, Type: k.DType.Name, Op: string(k.Op), ElementBytes: int64(k.DType.Size), Count: counts[0],
		InputBytes: part * k.Shape.Send.Of(world), OutputBytes: part * k.Shape.Recv.Of(world), SMs: multiprocessors,
		TimeoutNS: 1,
	}
	memory, err := f.NewMadeUp(call)
	if err != nil {
		return 0
	}
	steps, err := f.Bind(call, b, memory)
	if err != nil {
		return 0
	}
	for _, s := range steps {
		most = max(most, int64(s.Launch.Blocks), s.Launch.GridDim.Count())
	}
	return most
}
