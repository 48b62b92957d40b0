// Package workload plans what ranks do: which calls they make, by which algorithms, and where in
// each rank's memory the buffers lie. It runs nothing, and does not know which rank it is on: all
// ranks compute the same plan.
package workload

import (
	"time"

	"gpurun/kernels/kernelfile"
	"gpurun/kernels/tuning"
)

// Job is what all ranks do together. The launcher makes it, every worker gets
// the same one as JSON. Names are canonical; sizes are in bytes.
type Job struct {
	Collective string   `json:"collective"`
	Algorithms []string `json:"algorithms"` // names, or "auto"
	DTypes     []string `json:"dtypes"`
	Ops        []string `json:"ops"`        // "none", or none, where nothing is reduced
	Sizes      []int64  `json:"sizes"`      // bytes of the larger of a rank's buffers
	Cycles     int      `json:"cycles"`     // times the whole sweep runs
	Iterations int      `json:"iterations"` // timed calls per measurement
	Warmup     int      `json:"warmup"`     // calls before them
	// GraphReplays above zero captures the timed calls in a graph and replays
	// it as often, instead of launching each on the stream.
	GraphReplays int `json:"graph_replays"`
	// Passes above zero measures the algorithms of a call side by side: each of so many
	// passes takes one sample of every candidate. A graph is replayed once in a pass.
	Passes int `json:"rounds,omitempty"`
	// CeilingBytes above zero measures what the links carry before the sweep, by
	// copies of so many bytes.
	CeilingBytes int64  `json:"ceiling_bytes,omitempty"`
	Verify       bool   `json:"verify"`
	Seed         uint64 `json:"seed"`
	// VerifyFor above zero goes on verifying calls after the sweep, for so long, without timing.
	VerifyFor time.Duration `json:"verify_for,omitempty"`
	// Timeout bounds every wait for another rank.
	Timeout time.Duration `json:"timeout"`
	// Nodes is the number of machines that the ranks are on; 0 is 1.
	Nodes  int         `json:"nodes,omitempty"`
	Inject []Injection `json:"inject,omitempty"`
	Skew   []Skew      `json:"skew,omitempty"`
	// Tuning holds the tables for "auto". Without a matching rule, "auto" uses the
	// collective's estimate. It may be empty.
	Tuning tuning.Tables `json:"tuning,omitempty"`
	// Optional are those of Algorithms that are left out if they cannot run on the devices.
	// It is an error if no algorithm can run.
	Optional []string `json:"optional,omitempty"`
	// Blocks lists the grid sizes to run every case with. Empty: the tuning table's, else the
	// algorithm's.
	Blocks []int `json:"blocks,omitempty"`
	// MaxBlocks bounds every grid; 0: no bound.
	MaxBlocks int `json:"max_blocks,omitempty"`
	// SkipSlowerThan above zero skips slow cases: those that in a few trial calls take more
	// than so many times as long as the fastest case of the same Task.
	SkipSlowerThan float64 `json:"skip_slower_than,omitempty"`

	// Root is the rank that everything comes from or goes to, if the collective has one.
	Root int `json:"root,omitempty"`
	// Unaligned lets the buffers begin one element off their alignment, and
	// counts end anywhere.
	Unaligned bool `json:"unaligned,omitempty"`
	// Epilogue is a collective.EpilogueKind, or "none". Row is the elements of
	// a row, for those that work by rows; Scale and Epsilon are as there.
	Epilogue string  `json:"epilogue,omitempty"`
	Row      int64   `json:"row,omitempty"`
	Scale    float32 `json:"scale,omitempty"`
	Epsilon  float32 `json:"epsilon,omitempty"`
	// PDL, programmatic dependent launch, and Multicast are "on", "off" or
	// "auto", which is also empty; P2P is "auto" or "off", as if no GPU could
	// reach another.
	PDL       string `json:"pdl,omitempty"`
	Multicast string `json:"multicast,omitempty"`
	P2P       string `json:"p2p,omitempty"`
	// Symm is the kind of symmetric memory, a symm.Kind; "auto" and empty leave
	// it to the devices.
	Symm string `json:"symm,omitempty"`
	// LibraryPaths says where external libraries are, by name; those that it
	// lacks are searched for.
	LibraryPaths map[string]string `json:"library_paths,omitempty"`
	// Pairs checks the link of every ordered pair of ranks and runs no collective:
	// the only one of Sizes is what is written and copied, and Iterations is how
	// many copies are timed.
	Pairs bool `json:"pairs,omitempty"`
	// PairsTogether has all ranks write at the same time, each to another rank. It is for
	// simulated devices, whose bandwidths mean nothing: pair by pair takes too long for many
	// ranks.
	PairsTogether bool `json:"pairs_together,omitempty"`
	// Products makes the job about products of matrices, and Collective one of
	// matmul.Operations. It has no Ops, Sizes, Cycles or graphs.
	Products *Products `json:"products,omitempty"`
	// KernelFiles are the files that Algorithms name by their paths, with their code.
	KernelFiles []*kernelfile.Bundle `json:"kernel_files,omitempty"`
	// Record has the only call recorded, by making it once more, for a timeline: that of Products, or of a kernel file.
	Record bool `json:"record,omitempty"`
}
