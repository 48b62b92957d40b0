package exec

import (
	"strings"

	"gpurun/cudart"
)

// staticSpecials are the special registers whose value a lane keeps for life, but for those of three
// dimensions.
var staticSpecials = map[string]func(w *warp, lane int) uint64{
	"_":                   func(*warp, int) uint64 { return 0 },
	"%laneid":             func(_ *warp, lane int) uint64 { return uint64(lane) },
	"%warpid":             func(w *warp, _ int) uint64 { return uint64(w.index) },
	"%nwarpid":            func(*warp, int) uint64 { return 64 }, // of a multiprocessor
	"%smid":               func(w *warp, _ int) uint64 { return uint64(w.block.index % w.grid.cfg.SMs) },
	"%nsmid":              func(w *warp, _ int) uint64 { return uint64(w.grid.cfg.SMs) },
	"%gridid":             func(*warp, int) uint64 { return 0 },
	"%dynamic_smem_size":  func(w *warp, _ int) uint64 { return uint64(w.grid.cfg.SharedBytes) },
	"%total_smem_size":    func(w *warp, _ int) uint64 { return uint64(align(w.grid.usedShared(), sharedGranule)) },
	"%aggr_smem_size":     func(w *warp, _ int) uint64 { return uint64(reservedBytes + w.grid.usedShared()) },
	"%current_graph_exec": func(*warp, int) uint64 { return 0 }, // no graph is launched by devices
	"%lanemask_eq":        func(_ *warp, lane int) uint64 { return 1 << lane },
	"%lanemask_lt":        func(_ *warp, lane int) uint64 { return 1<<lane - 1 },
	"%lanemask_le":        func(_ *warp, lane int) uint64 { return 2<<lane - 1 },
	"%lanemask_gt":        func(_ *warp, lane int) uint64 { return fullMask &^ (2<<lane - 1) },
	"%lanemask_ge":        func(_ *warp, lane int) uint64 { return fullMask &^ (1<<lane - 1) },
	"%cluster_ctarank":    func(w *warp, _ int) uint64 { return uint64(w.block.rank) },
	"%cluster_nctarank":   func(w *warp, _ int) uint64 { return uint64(w.grid.clusterBlocks) },
}

// dimensionSpecials are those with the components x, y and z. A fourth one, w, is always 0.
var dimensionSpecials = map[string]func(w *warp, lane int) cudart.Dim3{
	"%tid":            func(w *warp, lane int) cudart.Dim3 { return w.grid.blockDim.At(w.thread(lane)) },
	"%ntid":           func(w *warp, _ int) cudart.Dim3 { return w.grid.blockDim },
	"%ctaid":          func(w *warp, _ int) cudart.Dim3 { return w.block.at },
	"%nctaid":         func(w *warp, _ int) cudart.Dim3 { return w.grid.gridDim },
	"%clusterid":      func(w *warp, _ int) cudart.Dim3 { return w.block.cluster.at },
	"%nclusterid":     func(w *warp, _ int) cudart.Dim3 { return w.grid.clustersDim },
	"%cluster_ctaid":  func(w *warp, _ int) cudart.Dim3 { return w.block.atRank },
	"%cluster_nctaid": func(w *warp, _ int) cudart.Dim3 { return w.grid.clusterDim },
}

// staticSpecial finds how to compute a special register, or nil.
func staticSpecial(name string) func(w *warp, lane int) uint64 {
	if f, ok := staticSpecials[name]; ok {
		return f
	}
	if offset, ok := reservedOffsets[name]; ok {
		return func(*warp, int) uint64 { return offset }
	}
	if f := environmentRegister(name); f != nil {
		return f
	}
	base, component, _ := strings.Cut(name, ".")
	dim, ok := dimensionSpecials[base]
	if !ok {
		return nil
	}
	switch component {
	case "x":
		return func(w *warp, lane int) uint64 { return uint64(dim(w, lane).X) }
	case "y":
		return func(w *warp, lane int) uint64 { return uint64(dim(w, lane).Y) }
	case "z":
		return func(w *warp, lane int) uint64 { return uint64(dim(w, lane).Z) }
	case "w":
		return func(*warp, int) uint64 { return 0 }
	}
	return nil
}

// readExplicitCluster compiles mov.pred p, %is_explicit_cluster, the only special register that is a
// predicate.
func (c *compiler) readExplicitCluster(o *op, name string) {
	if name != "%is_explicit_cluster" {
		c.fail("special register %s is no predicate", name)
	}
	p := c.dstPred(c.arg(0))
	o.kind = opRun
	o.run = func(w *warp, _ *op, mask uint32) error {
		w.setPred(p, boolMask(w.grid.explicitCluster), mask)
		return nil
	}
}
