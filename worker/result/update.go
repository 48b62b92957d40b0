package result

import (
	"gpurun/cudart"
	"gpurun/worker/result/phases"
	"gpurun/worker/result/trace"
)

// Update is what ranks tell the launcher while the job runs. Rank 0 tells first the
// processes and devices of all ranks, then the memory, what the links carry if that
// is measured, then one result after the other, or one rank's pairs after the other's.
// Every rank tells of the call that it recorded, and in the end its phases.
type Update struct {
	Processes []Process     `json:"processes,omitempty"` // by rank, with Devices
	Devices   []cudart.Info `json:"devices,omitempty"`   // by rank
	Memory    *Memory       `json:"memory,omitempty"`
	Ceiling   *Ceiling      `json:"ceiling,omitempty"`
	Result    *Result       `json:"result,omitempty"`
	Timeline  *trace.Rank   `json:"timeline,omitempty"` // a piece of the rank's own
	Pairs     []Pair        `json:"pairs,omitempty"`    // from one rank, to all others
	Apart     string        `json:"apart,omitempty"`    // why pairs cannot be checked: who cannot reach whom
	Phases    []phases.Span `json:"phases,omitempty"`   // the rank's own
}
