// Package zoo has mistakes that people made in kernels for several GPUs, rebuilt small, each with its mended twin:
// NAME.toml has the mistake, and NAME.mended.toml has not. The sources say what was found and where. See
// docs/check-zoo.md.
//
// go generate ./kernels makes the PTX, with the lines of the sources.
package zoo

import "gpurun/kernels/collective"

// Mistake is a kernel file with a mistake.
type Mistake struct {
	Name string
	// Twin is true if the mended twin has code of its own, and not only a file.
	Twin bool
}

// Mistakes lists all, by name.
func Mistakes() []Mistake {
	return []Mistake{
		{"cached_load", true},
		{"cleared_late", true},
		{"cluster_exit", true},
		{"constant_epoch", true},
		{"counter_order", true},
		{"device_scope", true},
		{"early_grid", true},
		{"early_signal", true},
		{"late_zero", false},
		{"mailbox_index", true},
		{"missed_peer", true},
		{"missing_end_barrier", true},
		{"not_resident", true},
		{"overlapping_signals", true},
		{"overlapping_slots", true},
		{"rank_grid", false},
		{"relaxed_start", true},
		{"reset_flag", true},
		{"shared_pad", true},
		{"ticket", true},
		{"tile_proxy", true},
		{"tile_read", true},
		{"torn_packet", true},
		{"volatile_flag", true},
	}
}

// Modules lists the PTX of all kernels.
func Modules() []collective.Module {
	var modules []collective.Module
	for _, m := range Mistakes() {
		module := collective.Module{Name: m.Name, Source: "examples/zoo/" + m.Name + ".cu", Arch: collective.SM80}
		switch m.Name {
		case "cluster_exit", "early_grid", "tile_proxy", "tile_read":
			module.Arch = collective.SM90 // clusters, griddepcontrol, bulk copies
		}
		modules = append(modules, module)
		if m.Twin {
			module.Name += ".mended"
			module.Defines = []string{"MENDED"}
			modules = append(modules, module)
		}
	}
	return modules
}
