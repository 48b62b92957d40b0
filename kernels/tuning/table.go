// Package tuning holds tables of the fastest algorithm and number of blocks, by GPU model, collective, number of ranks
// and size, and chooses by them.
//
// A [Table] holds the rules measured on one GPU model. "gpurun tune" writes a table. The folder
// configs/tuning holds the tables that ship in the binary, in TOML:
//
//	gpu = "NVIDIA H200"
//	compute = "9.0"
//	driver = "580.159.04"
//	measured = "2026-11-21"
//	dtype = "bfloat16"
//
//	[[rule]]
//	collective = "allreduce"
//	world = 4
//	up_to = "64K"
//	algorithm = "oneshot"
//	blocks = 8
//
// A rule may be for calls with an epilogue, and of these for rows of one length:
//
//	epilogue = "rmsnorm"
//	hidden = 8192
//
// [Tables.Choose] selects by the model first, then by the epilogue, the number of ranks, the length
// of rows, and the size.
package tuning

import "gpurun/kernels/collective"

// Table holds the rules measured on one GPU model.
type Table struct {
	GPU string `toml:"gpu" json:"gpu"` // as the driver names it
	// Compute is the compute capability, as "9.0".
	Compute  string `toml:"compute" json:"compute"`
	Driver   string `toml:"driver" json:"driver"`
	Measured string `toml:"measured" json:"measured"` // the day, as "2026-11-21", of rules that have none of their own
	DType    string `toml:"dtype" json:"dtype"`       // the element type of the calls
	// Rules of a collective, number of ranks, epilogue and length of rows stand
	// together, the one for the smallest sizes first.
	Rules []Rule `toml:"rule" json:"rules"`
}

// Rule is the fastest algorithm for a range of sizes.
type Rule struct {
	Collective string `toml:"collective" json:"collective"`
	World      int    `toml:"world" json:"world"` // ranks
	// Epilogue is that of the calls. Calls with an epilogue that has no rules use the rules of calls without one.
	Epilogue collective.EpilogueKind `toml:"epilogue,omitempty" json:"epilogue,omitempty"`
	// Hidden is the number of elements of the epilogue's rows; 0: any number. These rules apply
	// to calls with rows of that length up to the last UpTo. Larger calls use the rules for any
	// length.
	Hidden int64 `toml:"hidden,omitempty" json:"hidden,omitempty"`
	// UpTo is the last size that the rule is for, of the larger of a rank's buffers. A rule begins after the UpTo of the
	// rule before it. The last rule of a group has UpTo 0, no limit, unless the group has Hidden.
	UpTo      Size   `toml:"up_to,omitempty" json:"up_to,omitempty"`
	Algorithm string `toml:"algorithm" json:"algorithm"`
	// Blocks is the grid; 0 leaves it to the algorithm.
	Blocks int `toml:"blocks,omitempty" json:"blocks,omitempty"`
	// Estimated: the rule was written by hand and not measured.
	Estimated bool `toml:"estimated,omitempty" json:"estimated,omitempty"`
	// Measured is the day of the rule, if it is not the table's.
	Measured string `toml:"measured,omitempty" json:"measured,omitempty"`
}

// Tables are the tables of several GPU models.
type Tables []Table

// Only returns the tables with the rules for one collective alone.
func (ts Tables) Only(collective string) Tables {
	var all Tables
	for _, t := range ts {
		var rules []Rule
		for _, r := range t.Rules {
			if r.Collective == collective {
				rules = append(rules, r)
			}
		}
		if t.Rules = rules; len(rules) > 0 {
			all = append(all, t)
		}
	}
	return all
}
