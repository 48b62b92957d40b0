// Package tuning knows which algorithm, with how many blocks, was measured to
// be the fastest, by GPU model, collective, number of ranks and size.
//
// A [Table] is what was measured on one GPU model. "gpurun tune" writes it, and
// the folder configs/tuning holds those that ship in the binary, in TOML:
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
// [Tables.Choose] looks for the model first, then for the epilogue, the number of
// ranks, the length of rows, and the size.
package tuning

import "gpurun/kernels/collective"

// Table is what was measured on one GPU model.
type Table struct {
	GPU string `toml:"gpu" json:"gpu"` // as the driver names it
	// Compute is the compute capability, as "9.0".
	Compute  string `toml:"compute" json:"compute"`
	Driver   string `toml:"driver" json:"driver"`
	Measured string `toml:"measured" json:"measured"` // the day, as "2026-11-21"
	DType    string `toml:"dtype" json:"dtype"`       // the element type of the calls
	// Rules of a collective, number of ranks, epilogue and length of rows stand
	// together, the one for the smallest sizes first.
	Rules []Rule `toml:"rule" json:"rules"`
}

// Rule is the fastest algorithm for a range of sizes.
type Rule struct {
	Collective string `toml:"collective" json:"collective"`
	World      int    `toml:"world" json:"world"` // ranks
	// Epilogue is that of the calls. One that has no rules goes by those of calls
	// without.
	Epilogue collective.EpilogueKind `toml:"epilogue,omitempty" json:"epilogue,omitempty"`
	// Hidden is how many elements the epilogue's rows have; 0 is any number. Calls
	// with rows of that length go by these rules up to the last of their sizes,
	// and beyond by those for any.
	Hidden int64 `toml:"hidden,omitempty" json:"hidden,omitempty"`
	// UpTo is the last size, of the larger of a rank's buffers, that the rule
	// is for. It begins behind that of the rule before. 0, in the last rule of
	// those that stand together, is no limit; only where these say Hidden may the
	// last have one.
	UpTo      Size   `toml:"up_to,omitempty" json:"up_to,omitempty"`
	Algorithm string `toml:"algorithm" json:"algorithm"`
	// Blocks is the grid; 0 leaves it to the algorithm.
	Blocks int `toml:"blocks,omitempty" json:"blocks,omitempty"`
	// Estimated is a rule that was written by hand and not measured.
	Estimated bool `toml:"estimated,omitempty" json:"estimated,omitempty"`
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
