// Package result is what a run found out, and the forms it is printed in.
package result

import (
	"gpurun/cudart"
	"gpurun/worker/result/phases"
	"gpurun/worker/result/trace"
)

// Schema is the version of the JSON form. It changes when a field changes its
// meaning or goes away, not when one is added.
const Schema = 1

// Report is a whole run.
type Report struct {
	Schema    int           `json:"schema"`
	Version   string        `json:"version"`
	Command   []string      `json:"command"` // arguments as given, the program first
	WorldSize int           `json:"world_size"`
	Processes []Process     `json:"processes,omitempty"` // by rank
	Devices   []cudart.Info `json:"devices"`             // by rank
	Memory    *Memory       `json:"memory,omitempty"`
	Ceiling   *Ceiling      `json:"ceiling,omitempty"` // only "gpurun bench" measures it
	// Checks are what was looked at of the machine beforehand, if anything was.
	Checks  []Check  `json:"checks,omitempty"`
	Results []Result `json:"results"`
	// Gate is how the results compare with thresholds; nil: there was none, or
	// the run did not come to its end.
	Gate *Gate `json:"gate,omitempty"`
	// Pairs are the links of a check of all pairs, by From and To, and Apart says
	// why there are none: who cannot reach whom.
	Pairs  []Pair `json:"pairs,omitempty"`
	Apart  string `json:"apart,omitempty"`
	Passed bool   `json:"passed"`
	// Timeline is of the call that was recorded, if one was; it has a file of its own.
	Timeline trace.Timeline `json:"-"`
	// Timing is where the time of the run went, if that was asked for.
	Timing *phases.Timing `json:"timing,omitempty"`
	// Failure says why the run ended early; Results then holds what there was.
	Failure  string `json:"failure,omitempty"`
	ExitCode int    `json:"exit_code"`
}

// None stands for a type or an operation where there is none.
const None = "none"

// Process is where a rank ran.
type Process struct {
	Host string `json:"host"`
	PID  int    `json:"pid"`
}

// Memory is what the ranks shared, and why that.
type Memory struct {
	Backend string `json:"backend"` // "vmm", "ipc", "nvshmem", "sim", "host" or "private"
	Why     string `json:"why,omitempty"`
}

// Result is one measurement: a size, type, operation and algorithm, in place
// or out of place.
type Result struct {
	Collective string `json:"collective"`
	Algorithm  string `json:"algorithm"`
	Library    string `json:"library,omitempty"` // of others, and its version
	// Asked is what was asked for where that was not the algorithm: "auto".
	Asked    string `json:"asked,omitempty"`
	Blocks   int    `json:"blocks,omitempty"` // of the grid; 0: as the algorithm likes
	Why      string `json:"why,omitempty"`    // it is that algorithm and that grid
	DType    string `json:"dtype"`
	Op       string `json:"op"`
	Root     int    `json:"root"` // -1: the collective has none
	Epilogue string `json:"epilogue,omitempty"`
	Bytes    int64  `json:"bytes"` // of the larger of a rank's buffers
	// AskedBytes is the size that was asked for, where that is not Bytes: parts
	// are cut to whole elements and vectors.
	AskedBytes int64 `json:"asked_bytes,omitempty"`
	Count      int64 `json:"count"` // elements of a part, as nccl-tests counts
	InPlace    bool  `json:"in_place"`
	// Alone is a result out of place that has no partner: the algorithm does not
	// run in place.
	Alone bool   `json:"alone,omitempty"`
	Mode  string `json:"mode"` // "stream" or "graph"
	// Wrong counts wrong elements on all ranks; nil when not verified.
	Wrong *int64 `json:"wrong"`
	// Mismatches say where, one for each rank with wrong elements.
	Mismatches []Mismatch `json:"mismatches,omitempty"`
	Time       Time       `json:"time_us"`
	// Samples are the times that Time is the distribution of, in microseconds and in
	// the order of the rounds; only "gpurun bench" keeps them.
	Samples []float64 `json:"samples_us,omitempty"`
	// OnHost is how long the slowest rank's host took to enqueue a call, in microseconds: the median
	// of the rounds; 0 where calls are replayed from a graph, or there are no rounds.
	OnHost      float64 `json:"host_us,omitempty"`
	SlowestRank int     `json:"slowest_rank"`
	// RankTimes are the medians of all ranks, in microseconds.
	RankTimes []float64 `json:"rank_p50_us,omitempty"`
	// SlowRank is the rank that took longer than the others by more than chance
	// explains; nil: none did. See gate.SlowRank.
	SlowRank *int `json:"slow_rank,omitempty"`
	// Product is what was multiplied; nil: the result is of a collective.
	Product *Product `json:"product,omitempty"`
	AlgBW   float64  `json:"algbw"` // GB/s, 1e9 bytes per second, by the median
	BusBW   float64  `json:"busbw"` // GB/s
}

// Time is the distribution of one call's time on the slowest rank, in
// microseconds.
type Time struct {
	Min float64 `json:"min"`
	P50 float64 `json:"p50"`
	P95 float64 `json:"p95"`
	P99 float64 `json:"p99"`
	Max float64 `json:"max"`
}

// Mismatch is what is wrong in one rank's result.
type Mismatch struct {
	Rank  int    `json:"rank"`
	Wrong int64  `json:"wrong"`
	Of    int64  `json:"of"`          // elements
	Index int64  `json:"first_index"` // element
	Want  string `json:"want_bits"`   // hexadecimal
	Got   string `json:"got_bits"`
	Phase string `json:"phase"` // "before timing" or "after timing", and which output if not the only one
}
