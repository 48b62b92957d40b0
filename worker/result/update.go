package result

import (
	"gpurun/cudart"
	"gpurun/worker/phases"
	"gpurun/worker/trace"
)

// Update is what rank 0 tells the launcher while the job runs: first the
// processes and devices of all ranks, then the memory, what the links
// carry if that is measured, then one result after the other.
type Update struct {
	Processes []Process     `json:"processes,omitempty"` // by rank, with Devices
	Devices   []cudart.Info `json:"devices,omitempty"`   // by rank
	Memory    *Memory       `json:"memory,omitempty"`
	Ceiling   *Ceiling      `json:"ceiling,omitempty"`
	Result    *Result       `json:"result,omitempty"`
	Timeline  *trace.Rank   `json:"timeline,omitempty"` // a piece of it, of one rank
	Pairs     []Pair        `json:"pairs,omitempty"`    // from one rank, of a check of all pairs
	Apart     string        `json:"apart,omitempty"`    // why pairs cannot be checked: who cannot reach whom
	Phases    []phases.Span `json:"phases,omitempty"`   // of any rank, at its end
}
