package result

import (
	"gpurun/cudart"
	"gpurun/worker/result/phases"
	"gpurun/worker/result/trace"
)

// Update is a message of a rank to the launcher while the job runs. Rank 0 sends, in this
// order: the processes and devices of all ranks; the memory; the links' ceiling, if that
// is measured; one result after the other, and what was verified further, or the pairs of one
// rank after the other.
// Every rank sends the timeline of the call that it recorded, and at the end its phases.
type Update struct {
	Processes    []Process     `json:"processes,omitempty"` // by rank, with Devices
	Devices      []cudart.Info `json:"devices,omitempty"`   // by rank
	Memory       *Memory       `json:"memory,omitempty"`
	Ceiling      *Ceiling      `json:"ceiling,omitempty"`
	Result       *Result       `json:"result,omitempty"`
	Further      *Further      `json:"further,omitempty"`
	Timeline     *trace.Rank   `json:"timeline,omitempty"` // a piece of the rank's own
	Pairs        []Pair        `json:"pairs,omitempty"`    // from one rank, to all others
	NoPeerAccess string        `json:"apart,omitempty"`    // why pairs cannot be checked: which GPU cannot access which
	Phases       []phases.Span `json:"phases,omitempty"`   // the rank's own
}
