package check

import engine "gpurun/cudart/sim/check"

// What lines of the shared sources have: flags.cuh and sum.cuh.
const (
	release = "st.release.sys"
	acquire = "ld.acquire.sys"
	sumsUp  = "inputs["
)

// zooFindings is what has to be found of each mistake, by the reasons that are given.
var zooFindings = map[string]zooFinding{
	// The peer's store is ordered by the barrier, and happened while the grid ran.
	"cached_load": {
		kind: engine.Race, cause: "read by .nc", sides: []string{"staged[rank][i] = input[i]", "asm volatile(LOAD"},
	},
	// A peer that has passed the last barrier adds for the next call.
	"cleared_late": {kind: engine.Race, cause: "nothing orders them", sides: []string{"red.relaxed", "sums[rank][i] = 0"}},
	// The load of the other block's tile, and the end of that block.
	"cluster_exit": {
		kind: engine.Freed, cause: "peer block has ended", sides: []string{"ld.shared::cluster", "end of the block"},
	},
	// The flag of the first call ends the wait of the second.
	"constant_epoch": {kind: engine.StaleFlag, sides: []string{release, acquire, release}},
	// Another block of the rank has stored, and its count releases nothing.
	"counter_order": {
		kind: engine.Race, cause: "nothing orders them", sides: []string{"staged[rank][i] = input[i]", sumsUp},
	},
	"device_scope": {
		kind: engine.Race, cause: "a scope is too narrow", sides: []string{"staged[rank][i] = input[i]", sumsUp},
		flag: [2]string{release, "asm volatile(LOAD"},
	},
	"early_grid": {
		kind: engine.Race, cause: engine.PriorNotWaited, sides: []string{"staged[rank][i] = input[i]", sumsUp},
	},
	"early_signal": {
		kind: engine.Race, cause: "nothing orders them", sides: []string{"staged[rank][i] = input[i]", sumsUp},
	},
	// The host code clears, and the peer signals.
	"late_zero": {kind: engine.Race, cause: "nothing orders them", sides: []string{release, "fill"}},
	// The peer's word of the next call is replaced by the empty one before it is read.
	"mailbox_index": {kind: engine.LostSignal, sides: []string{"st.relaxed", "st.relaxed"}},
	// The input of the peer that was not waited for is copied by its stream.
	"missed_peer": {kind: engine.Race, cause: "nothing orders them", sides: []string{"copy", sumsUp}},
	// The next copy of the input does not wait for the peers that load.
	"missing_end_barrier": {kind: engine.Race, cause: "nothing orders them", sides: []string{sumsUp, "copy"}},
	"not_resident": {
		kind: engine.Deadlock, cause: "blocks are not resident", sides: []string{"ld.acquire.gpu"},
	},
	"overlapping_signals": {
		kind: engine.Race, cause: "they overlap in part", sides: []string{"st.volatile.global.u8", "ld.volatile.global.u64"},
	},
	// A peer still sums the slot of the call before, where the larger one begins.
	"overlapping_slots": {
		kind: engine.Race, cause: "nothing orders them", sides: []string{"sum", "slots[rank][begin + i] = input[i]"},
	},
	"rank_grid":     {kind: engine.Deadlock, cause: "grids differ between ranks", sides: []string{acquire}},
	"relaxed_start": {kind: engine.Race, cause: "nothing orders them", sides: []string{"copy", sumsUp}},
	// The peer's signal of the next call is cleared before anybody has read it.
	"reset_flag": {kind: engine.LostSignal, sides: []string{release, "st.relaxed", acquire}},
	// The pair's signal ends the wait of all: the input of a rank of the other pair, or the next one, is not waited for.
	"shared_pad": {kind: engine.Race, cause: "nothing orders them", sides: []string{"total", "copy"}},
	// The last block has its ticket after the others, and acquires nothing by it.
	"ticket": {
		kind: engine.Race, cause: "nothing orders them", sides: []string{"parts[blockIdx.x] = sum", "total += parts[b]"},
	},
	// The block's barrier orders the store before the copy, which is of another proxy.
	"tile_proxy": {
		kind: engine.Race, cause: "wrong proxy", sides: []string{"tile[threadIdx.x] =", "cp.async.bulk.global"},
	},
	// The copy has begun before the flag, and may end behind the peer's load.
	"tile_read": {kind: engine.Race, cause: "not waited for", sides: []string{"cp.async.bulk.global", sumsUp}},
	"torn_packet": {
		kind: engine.Torn, cause: "a volatile store of 16 bytes is two of 8", sides: []string{"st.volatile", "ld.volatile"},
	},
	"volatile_flag": {
		kind: engine.Race, cause: "nothing orders them", sides: []string{"staged[rank][i] = input[i]", sumsUp},
	},
}
