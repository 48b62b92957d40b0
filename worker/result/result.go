// Package result has the results of a run, and prints them in several formats.
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
	// Checks are those of the machine before the run, if there were any.
	Checks  []Check  `json:"checks,omitempty"`
	Results []Result `json:"results"`
	// Further is what was verified after the sweep; nil: nothing.
	Further *Further `json:"further,omitempty"`
	// Gate compares the results with thresholds; nil: there was no threshold, or
	// the run ended early.
	Gate *Gate `json:"gate,omitempty"`
	// Pairs are the links that a check of all pairs measured, by From and To.
	// NoPeerAccess says why there are none: which GPU cannot access which.
	Pairs        []Pair `json:"pairs,omitempty"`
	NoPeerAccess string `json:"apart,omitempty"`
	Passed       bool   `json:"passed"`
	// Timeline is that of the recorded call, if one was recorded. It is written to a file of its own.
	Timeline trace.Timeline `json:"-"`
	// Timing divides the time of the run into phases; nil without --timing.
	Timing *phases.Timing `json:"timing,omitempty"`
	// Failure says why the run ended early; Results then holds those before.
	Failure  string `json:"failure,omitempty"`
	ExitCode int    `json:"exit_code"`
}

// None is the type and the operation of a collective that has none.
const None = "none"

// Process is where a rank ran.
type Process struct {
	Host string `json:"host"`
	PID  int    `json:"pid"`
}

// Memory is the kind of memory that the ranks shared, and why.
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
	// Asked is "auto" where the user asked for that and not for the algorithm; else empty.
	Asked    string `json:"asked,omitempty"`
	Blocks   int    `json:"blocks,omitempty"` // of the grid; 0: the algorithm chooses
	Why      string `json:"why,omitempty"`    // that algorithm and that grid were chosen
	DType    string `json:"dtype"`
	Op       string `json:"op"`
	Root     int    `json:"root"` // -1: the collective has none
	Epilogue string `json:"epilogue,omitempty"`
	Bytes    int64  `json:"bytes"` // of the larger of a rank's buffers
	// AskedBytes is the size that the user asked for, where it differs from Bytes: parts
	// are rounded down to whole elements and vectors.
	AskedBytes int64 `json:"asked_bytes,omitempty"`
	Count      int64 `json:"count"` // elements of a part, as nccl-tests counts
	InPlace    bool  `json:"in_place"`
	// Alone marks a result out of place of an algorithm that does not run in place.
	Alone bool   `json:"alone,omitempty"`
	Mode  string `json:"mode"` // "stream" or "graph"
	// Untimed marks a call that was verified only, and has no times.
	Untimed bool `json:"untimed,omitempty"`
	// Wrong counts wrong elements on all ranks; nil when not verified.
	Wrong *int64 `json:"wrong"`
	// Mismatches say where, one for each rank with wrong elements.
	Mismatches []Mismatch `json:"mismatches,omitempty"`
	Time       Time       `json:"time_us"`
	// Samples are the single times behind Time, in microseconds and in the order of the
	// passes; only "gpurun bench" keeps them.
	Samples []float64 `json:"samples_us,omitempty"`
	// OnHost is how long the slowest rank's host took to enqueue a call, in microseconds: the median
	// of the passes; 0 where calls are replayed from a graph, or outside "gpurun bench".
	OnHost      float64 `json:"host_us,omitempty"`
	SlowestRank int     `json:"slowest_rank"`
	// RankTimes are the medians of all ranks, in microseconds.
	RankTimes []float64 `json:"rank_p50_us,omitempty"`
	// SlowRank is the rank that took significantly longer than the others; nil: none did.
	// See gate.SlowRank.
	SlowRank *int `json:"slow_rank,omitempty"`
	// Product describes a product of matrices; nil: the result is of a collective.
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

// Mismatch describes the wrong elements of one rank's result.
type Mismatch struct {
	Rank  int    `json:"rank"`
	Wrong int64  `json:"wrong"`
	Of    int64  `json:"of"`          // elements
	Index int64  `json:"first_index"` // element
	Want  string `json:"want_bits"`   // hexadecimal
	Got   string `json:"got_bits"`
	Phase string `json:"phase"` // "before timing" or "after timing", and which output if not the only one
	// Where a kernel file has a tolerance: the same two numbers, decimal, and how they exceed the tolerance.
	WantValue string `json:"want,omitempty"`
	GotValue  string `json:"got,omitempty"`
	Bound     string `json:"bound,omitempty"`
}
