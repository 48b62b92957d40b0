package worker

import (
	"time"

	"gpurun/kernels/tuning"
)

// Job is what all ranks do together. The launcher makes it, every worker gets
// the same one as JSON. Names are canonical; sizes are in bytes.
type Job struct {
	Collective string   `json:"collective"`
	Algorithms []string `json:"algorithms"` // names, or "auto"
	DTypes     []string `json:"dtypes"`
	Ops        []string `json:"ops"`
	Sizes      []int64  `json:"sizes"`      // bytes of the input of each rank
	Cycles     int      `json:"cycles"`     // times the whole sweep runs
	Iterations int      `json:"iterations"` // timed calls per measurement
	Warmup     int      `json:"warmup"`     // calls before them
	// GraphReplays above zero captures the timed calls in a graph and replays
	// it as often, instead of launching each on the stream.
	GraphReplays int    `json:"graph_replays"`
	Verify       bool   `json:"verify"`
	Seed         uint64 `json:"seed"`
	// Timeout bounds every wait for another rank.
	Timeout time.Duration `json:"timeout"`
	Inject  []Injection   `json:"inject,omitempty"`
	// Tuning is what "auto" goes by: Tuning.Choose, and where that knows
	// nothing, the collective's own estimate. Empty is nothing known.
	Tuning tuning.Tables `json:"tuning,omitempty"`
	// Blocks lists the grids to run every case with, of so many blocks each;
	// empty leaves them to the choice, and that to the algorithm.
	Blocks []int `json:"blocks,omitempty"`
}
