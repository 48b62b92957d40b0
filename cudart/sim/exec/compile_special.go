package exec

import "strings"

// reservedShared is what the system takes of shared memory for each block.
const reservedShared = 1 << 10

// staticSpecials are the special registers whose value a lane keeps for life.
// Blocks and grids are one-dimensional.
var staticSpecials = map[string]func(w *warp, lane int) uint64{
	"_":                           func(*warp, int) uint64 { return 0 },
	"%tid.x":                      func(w *warp, lane int) uint64 { return uint64(w.index*32 + lane) },
	"%ntid.x":                     func(w *warp, _ int) uint64 { return uint64(w.grid.cfg.Threads) },
	"%ctaid.x":                    func(w *warp, _ int) uint64 { return uint64(w.block.index) },
	"%nctaid.x":                   func(w *warp, _ int) uint64 { return uint64(w.grid.cfg.Blocks) },
	"%laneid":                     func(_ *warp, lane int) uint64 { return uint64(lane) },
	"%warpid":                     func(w *warp, _ int) uint64 { return uint64(w.index) },
	"%nwarpid":                    func(*warp, int) uint64 { return 64 }, // of a multiprocessor
	"%smid":                       func(w *warp, _ int) uint64 { return uint64(w.block.index % w.grid.cfg.SMs) },
	"%nsmid":                      func(w *warp, _ int) uint64 { return uint64(w.grid.cfg.SMs) },
	"%gridid":                     func(*warp, int) uint64 { return 0 },
	"%dynamic_smem_size":          func(w *warp, _ int) uint64 { return uint64(w.grid.cfg.SharedBytes) },
	"%total_smem_size":            func(w *warp, _ int) uint64 { return uint64(len(w.block.shared.data)) },
	"%aggr_smem_size":             func(w *warp, _ int) uint64 { return uint64(len(w.block.shared.data)) + reservedShared },
	"%current_graph_exec":         func(*warp, int) uint64 { return 0 }, // no graph is launched by devices
	"%lanemask_eq":                func(_ *warp, lane int) uint64 { return 1 << lane },
	"%lanemask_lt":                func(_ *warp, lane int) uint64 { return 1<<lane - 1 },
	"%lanemask_le":                func(_ *warp, lane int) uint64 { return 2<<lane - 1 },
	"%lanemask_gt":                func(_ *warp, lane int) uint64 { return fullMask &^ (2<<lane - 1) },
	"%lanemask_ge":                func(_ *warp, lane int) uint64 { return fullMask &^ (1<<lane - 1) },
	"%clusterid.x":                func(w *warp, _ int) uint64 { return uint64(w.block.index / w.grid.cfg.Cluster) },
	"%nclusterid.x":               func(w *warp, _ int) uint64 { return uint64(w.grid.cfg.Blocks / w.grid.cfg.Cluster) },
	"%cluster_ctaid.x":            func(w *warp, _ int) uint64 { return uint64(w.block.rank) },
	"%cluster_nctaid.x":           func(w *warp, _ int) uint64 { return uint64(w.grid.cfg.Cluster) },
	"%cluster_ctarank":            func(w *warp, _ int) uint64 { return uint64(w.block.rank) },
	"%cluster_nctarank":           func(w *warp, _ int) uint64 { return uint64(w.grid.cfg.Cluster) },
	"%reserved_smem_offset_begin": func(*warp, int) uint64 { return 0 },
}

var flatDimensions = map[string]uint64{
	"%tid": 0, "%ctaid": 0, "%clusterid": 0, "%cluster_ctaid": 0,
	"%ntid": 1, "%nctaid": 1, "%nclusterid": 1, "%cluster_nctaid": 1,
}

// staticSpecial finds how to compute a special register, or nil.
func staticSpecial(name string) func(w *warp, lane int) uint64 {
	if f, ok := staticSpecials[name]; ok {
		return f
	}
	base, dimension, _ := strings.Cut(name, ".")
	value, ok := flatDimensions[base]
	if !ok || dimension != "y" && dimension != "z" {
		return nil
	}
	return func(*warp, int) uint64 { return value }
}
