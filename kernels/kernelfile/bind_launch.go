package kernelfile

import (
	"maps"
	"slices"
	"strings"

	"gpurun/cudart"
)

// Limits of a launch: CUDA C++ Programming Guide, compute capabilities.
const (
	maxGridX        = 1<<31 - 1
	maxGridYZ       = 1<<16 - 1
	maxBlockXY      = 1024
	maxBlockZ       = 64
	maxBlockThreads = 1024
	maxSharedBytes  = 1 << 20
	maxParamBytes   = 32764
)

func (b *binder) launch(l *Launch) error {
	module, err := b.module(l)
	if err != nil {
		return err
	}
	bounds := module.Bounds[b.out.Entry]
	if err := b.shape(l, module.Triton, bounds); err != nil {
		return err
	}
	if err := b.checkBounds(l, bounds); err != nil {
		return err
	}
	params, ok := module.Entries[b.out.Entry]
	if err := b.params(l, params, ok); err != nil {
		return err
	}
	if ok {
		return b.compareParams(l, params)
	}
	return nil
}

// module finds the module and the kernel of a launch. Without a bundle, the module is empty.
func (b *binder) module(l *Launch) (Module, error) {
	b.out.Module = l.Key(b.call)
	if b.bundle == nil {
		b.out.Entry = l.Entry.Fill(b.call)
		return Module{}, nil
	}
	m, ok := b.bundle.Modules[b.out.Module]
	if !ok {
		return Module{}, b.file.errorAt(l.line(), "module %s has not been read", firstLine(b.out.Module))
	}
	all := slices.Sorted(maps.Keys(m.Entries))
	switch {
	case l.Match.Text != "":
		pattern := l.Match.Fill(b.call)
		if b.out.Entry, ok = m.Matches[pattern]; !ok {
			return Module{}, b.file.errorAt(l.Match.Line, "no kernel of %s matches %q", m.Path, pattern)
		}
	case l.Entry.Text != "":
		b.out.Entry = l.Entry.Fill(b.call)
		if _, ok := m.Entries[b.out.Entry]; !ok && m.Entries != nil {
			return Module{}, b.file.errorAt(l.Entry.Line, "%s has no kernel %s%s", m.Path, b.out.Entry,
				didYouMean(b.out.Entry, all))
		}
	case len(all) == 1:
		b.out.Entry = all[0]
	case len(all) == 0:
		return Module{}, b.file.errorAt(l.line(), "the kernels of %s are not known: write entry, the name of one", m.Path)
	default:
		return Module{}, b.file.errorAt(l.line(), "%s has several kernels: write entry = %q, or %s", m.Path, all[0],
			strings.Join(all[1:], ", "))
	}
	return m, nil
}

// line is where the file says where the code is.
func (c Code) line() int { return max(c.Module.Line, c.Source.Line) }

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}

// shape evaluates the dimensions of a launch, and sets grid and block for what follows.
func (b *binder) shape(l *Launch, triton *Triton, bounds Bounds) error {
	if triton == nil {
		triton = &Triton{}
	}
	grid, err := b.dims(l.Grid, "grid", [3]int64{maxGridX, maxGridYZ, maxGridYZ})
	if err != nil {
		return err
	}
	block, err := b.dims(l.Block, "block", [3]int64{maxBlockXY, maxBlockXY, maxBlockZ})
	if err != nil {
		return err
	}
	cluster, err := b.dims(l.Cluster, "cluster", [3]int64{cudart.MaxCluster, cudart.MaxCluster, cudart.MaxCluster})
	if err != nil {
		return err
	}
	if len(block) == 0 {
		block = bounds.block()
	}
	if len(block) == 0 && triton.Threads == 0 {
		return b.file.errorAt(l.Grid[0].Line, "the launch has no block: write how many threads a block has")
	}
	if len(block) == 0 {
		block = []int{triton.Threads}
	}
	if len(cluster) == 0 && triton.Cluster > 1 {
		cluster = []int{triton.Cluster}
	}
	s := &b.out.Launch
	s.Blocks, s.GridDim = dim3(grid)
	s.Threads, s.BlockDim = dim3(block)
	s.Cluster, s.ClusterDim = dim3(cluster)
	s.Cooperative, s.PDL = l.Cooperative, l.PDL
	b.grid, b.block = volume(grid), volume(block)
	if b.block > maxBlockThreads {
		return b.file.errorAt(l.Block[0].Line, "a block of %d threads is larger than %d", b.block, maxBlockThreads)
	}
	if l.Resident != nil {
		if b.out.Resident, err = b.between(*l.Resident, "a number of blocks", 0, maxGridX); err != nil {
			return err
		}
	}
	shared, err := b.or(l.Shared, "a number of bytes", 0, maxSharedBytes, int64(triton.Shared))
	s.SharedBytes = int(shared)
	return err
}

func (b *binder) dims(all []Expr, what string, most [3]int64) ([]int, error) {
	var dims []int
	for i, x := range all {
		n, err := b.between(x, what+" in dimension "+string("xyz"[i]), 1, most[i])
		if err != nil {
			return nil, err
		}
		dims = append(dims, int(n))
	}
	return dims, nil
}

// dim3 gives a shape of one dimension as a number, and others as they are.
func dim3(dims []int) (int, cudart.Dim3) {
	switch len(dims) {
	case 0:
		return 0, cudart.Dim3{}
	case 1:
		return dims[0], cudart.Dim3{}
	case 2:
		return 0, cudart.Dim3{X: dims[0], Y: dims[1], Z: 1}
	}
	return 0, cudart.Dim3{X: dims[0], Y: dims[1], Z: dims[2]}
}

// volume cannot overflow: a grid has less than 2^63 blocks.
func volume(dims []int) int64 {
	n := int64(1)
	for _, d := range dims {
		n *= int64(d)
	}
	return n
}
