package check

// multiprocessors are what a device of a compute capability has: limits of a multiprocessor, and the most
// multiprocessors of any such GPU.
//
// The limits are those of the table "Technical Specifications per Compute Capability" of the CUDA C++ Programming
// Guide; they were compared with arch_traits.h of NVIDIA's CCCL.
type multiprocessors struct {
	major, minor    int
	count           int
	threads, blocks int // that are resident at once on one
	sharedBytes     int64
}

// The counts are those of the largest products. Whole chips have more: 128, 84, 144 and 144. Sources: NVIDIA's
// papers on the architectures of A100 (108) and H100 (132 of the SXM5 board), and data sheets of A40, L40 and RTX
// 6000 Ada. These give CUDA cores, and a multiprocessor of compute capability 8.6 or 8.9 has 128: 10,752 are 84 of
// an A40, and 18,176 are 142 of an L40, which also has 142 RT cores, one for each. A B200 has 148, and GB200's is
// said to have 152 by the device properties in public benchmarks.
var capabilities = []multiprocessors{
	{major: 8, minor: 0, count: 108, threads: 2048, blocks: 32, sharedBytes: 164 << 10}, // A100
	{major: 8, minor: 6, count: 84, threads: 1536, blocks: 16, sharedBytes: 100 << 10},  // A40, RTX A6000
	{major: 8, minor: 9, count: 142, threads: 1536, blocks: 24, sharedBytes: 100 << 10}, // L40, RTX 6000 Ada
	{major: 9, minor: 0, count: 132, threads: 2048, blocks: 32, sharedBytes: 228 << 10}, // H100 SXM5, H200
	{major: 10, minor: 0, count: 152, threads: 2048, blocks: 32, sharedBytes: 228 << 10},
}

// resident is how many blocks of a launch a GPU holds at once, if nothing else runs there: CUDA's occupancy of a
// multiprocessor, times their number. Registers do not count: ptxas assigns them, and neither .reg nor .maxnreg of the
// PTX says how few a thread may need. So a grid is never cut that fits on a GPU.
//
// A device has fewer multiprocessors here than a GPU. They count only where [Config.GridsScale] says that grids are
// made for them; any other grid may have as many blocks as fit on the largest GPU.
func (l *launch) resident() int {
	cfg := &l.device.run.checker.cfg
	if cfg.Resident > 0 {
		return cfg.Resident
	}
	on := capabilities[len(capabilities)-1]
	for _, c := range capabilities {
		if c.major == cfg.Major && c.minor == cfg.Minor {
			on = c
		}
	}
	count := on.count
	if cfg.GridsScale {
		count = cfg.SMs
	}
	blocks := count * on.occupancy(int(l.shape.Block().Count()), l.kernel.code.SharedBytes(l.shape.SharedBytes))
	cluster := max(1, int(l.shape.ClusterBlocks().Count()))
	return max(blocks/cluster, 1) * cluster
}

// occupancy is how many blocks of so many threads and bytes of shared memory are resident on a multiprocessor. A launch
// that no multiprocessor holds is refused elsewhere; here it is one block.
func (m multiprocessors) occupancy(threads int, shared int64) int {
	const warpLanes = 32
	warps := (threads + warpLanes - 1) / warpLanes
	blocks := min(m.blocks, m.threads/warpLanes/max(warps, 1), int(m.sharedBytes/shared))
	return max(blocks, 1)
}
