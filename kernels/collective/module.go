package collective

import (
	"fmt"
	"slices"
)

// Arch is what PTX is compiled for.
type Arch struct {
	SM int // 10*major+minor
	// Specific PTX uses features of this architecture alone and runs on no
	// later one.
	Specific bool
}

// The architectures that kernels are compiled for.
var (
	SM80   = Arch{SM: 80}                  // everything that needs no more
	SM90   = Arch{SM: 90}                  // programmatic dependent launch, multimem
	SM90a  = Arch{SM: 90, Specific: true}  // products by warpgroups
	SM100a = Arch{SM: 100, Specific: true} // multimem of 8-bit floats
)

// String is the name that compilers know, such as "sm_100a".
func (a Arch) String() string {
	if a.Specific {
		return fmt.Sprintf("sm_%da", a.SM)
	}
	return fmt.Sprintf("sm_%d", a.SM)
}

// RunsOn reports whether a device of compute capability sm, 10*major+minor,
// takes PTX for the architecture.
func (a Arch) RunsOn(sm int) bool { return a.SM == sm || a.SM < sm && !a.Specific }

// PDL reports whether the architecture's kernels execute griddepcontrol.wait, which programmatic
// dependent launch requires.
func (a Arch) PDL() bool { return a.SM >= 90 }

// Module is one file of PTX.
type Module struct {
	Name    string // of the file, less ".ptx"
	Source  string // the file that it is compiled from, relative to kernels/
	Arch    Arch
	Defines []string // macros of the compilation, NAME or NAME=VALUE
}

// Kernel is an entry point and the calls that it can do.
type Kernel struct {
	Module Module
	Entry  string
	// Any: the kernel moves elements of any type.
	Any   bool
	DType DType
	Op    Op
	// World is the number of ranks that the kernel is compiled for; 0: any.
	World    int
	Epilogue EpilogueKind
}

// fits reports whether the kernel can do a call among so many ranks.
func (k *Kernel) fits(d DType, op Op, e EpilogueKind, world int) bool {
	return (k.Any || k.DType.Name == d.Name) && k.Op == op && k.Epilogue == e && (k.World == 0 || k.World == world)
}

// ownWorlds are the world sizes with specialized kernels.
var ownWorlds = []int{2, 4, 8}

// module is the PTX of an algorithm, for an element type unless that is nil. A
// suffix distinguishes modules of one algorithm and type.
func module(collective, algorithm string, d *DType, arch Arch, suffix string, defines ...string) Module {
	m := Module{
		Name:   fmt.Sprintf("%s_%s", collective, algorithm),
		Source: fmt.Sprintf("%s/%s.cu", collective, algorithm),
		Arch:   arch, Defines: defines,
	}
	if d != nil {
		m.Name += "_" + d.Name
		m.Defines = append(m.Defines, "ELEMENT="+d.Element)
	}
	m.Name += suffix
	if arch != SM80 {
		m.Name += "_" + arch.String()
	}
	return m
}

// Reductions lists the kernels that the macro REDUCTIONS of kernels/device/entries.cuh makes of
// the template with that name, for every element type. Kernels of 8-bit floats are always
// compiled for SM90 too, which has conversion instructions. On SM80, integer arithmetic converts
// 8-bit floats. It takes the driver's compiler long, so these kernels are not specialized by
// world size.
func Reductions(collective, algorithm, template string, archs ...Arch) []Kernel {
	// One allocation: lists that grow would be most of what a process allocates before it runs anything.
	all := make([]Kernel, 0, (len(archs)+1)*len(DTypes())*(len(Ops())+len(ownWorlds)))
	for _, arch := range []Arch{SM80, SM90} {
		for _, d := range DTypes() {
			shortFloat := d.Kind == FloatingPoint && d.Size == 1
			if !slices.Contains(archs, arch) && (arch != SM90 || !shortFloat) {
				continue
			}
			m, worlds := module(collective, algorithm, &d, arch, ""), ownWorlds
			if shortFloat && arch == SM80 {
				m, worlds = module(collective, algorithm, &d, arch, "", "GENERAL_ONLY"), nil
			}
			for _, op := range Ops() {
				all = append(all, Kernel{Module: m, Entry: template + "_any", DType: d, Op: op})
			}
			for _, n := range worlds {
				all = append(all, Kernel{Module: m, Entry: fmt.Sprintf("%s_sum_n%d", template, n), DType: d, Op: Sum, World: n})
			}
		}
	}
	return all
}

// FloatReductions is Reductions for SM90, limited to EpilogueDTypes.
func FloatReductions(collective, algorithm, template string) []Kernel {
	return slices.DeleteFunc(Reductions(collective, algorithm, template, SM90), func(k Kernel) bool {
		return !slices.ContainsFunc(EpilogueDTypes(), func(d DType) bool { return d.Name == k.DType.Name })
	})
}

// AnyWorldReductions lists the kernels that the macro ANY_WORLD_REDUCTIONS makes, for SM90 and EpilogueDTypes.
func AnyWorldReductions(collective, algorithm, template string) []Kernel {
	var all []Kernel
	for _, d := range EpilogueDTypes() {
		m := module(collective, algorithm, &d, SM90, "")
		for _, op := range Ops() {
			entry := template + "_any"
			if op == Sum {
				entry = template + "_sum"
			}
			all = append(all, Kernel{Module: m, Entry: entry, DType: d, Op: op})
		}
	}
	return all
}

// Epilogues lists the kernels that the macros EPILOGUES and RMSNORMS make, in a
// module each.
func Epilogues(collective, algorithm, template string, arch Arch) []Kernel {
	var all []Kernel
	for _, d := range EpilogueDTypes() {
		for _, e := range EpilogueKinds() {
			m, worlds := module(collective, algorithm, &d, arch, "_epilogues", "WITH_EPILOGUES"), []int{}
			if e == RMSNorm {
				m, worlds = module(collective, algorithm, &d, arch, "_rmsnorm", "WITH_RMSNORM"), ownWorlds
			}
			k := Kernel{Module: m, Entry: fmt.Sprintf("%s_sum_%s", template, e), DType: d, Op: Sum, Epilogue: e}
			all = append(all, k)
			for _, n := range worlds {
				own := k
				own.World, own.Entry = n, fmt.Sprintf("%s_n%d", k.Entry, n)
				all = append(all, own)
			}
		}
	}
	return all
}

// Copies lists the one kernel of an algorithm that only moves elements, which
// has the module's name.
func Copies(collective, algorithm string, arch Arch) []Kernel {
	m := module(collective, algorithm, nil, arch, "")
	return []Kernel{{Module: m, Entry: collective + "_" + algorithm, Any: true, Op: None}}
}

// CopiesByWorld is Copies with an additional kernel for each world size of ownWorlds.
func CopiesByWorld(collective, algorithm string, archs ...Arch) []Kernel {
	var all []Kernel
	for _, arch := range archs {
		k := Copies(collective, algorithm, arch)[0]
		all = append(all, k)
		for _, n := range ownWorlds {
			own := k
			own.World, own.Entry = n, fmt.Sprintf("%s_n%d", k.Entry, n)
			all = append(all, own)
		}
	}
	return all
}

// Multimem lists the kernels that MULTIMEM_REDUCTIONS of
// kernels/device/multireduce.cuh makes, for the types and operations of multimem.ld_reduce.
// Averages that would be rounded twice are left out.
func Multimem(collective, algorithm, template string) []Kernel {
	var all []Kernel
	for _, d := range DTypes() {
		arch, ops, defines := multimemOps(d)
		if len(ops) == 0 {
			continue
		}
		m := module(collective, algorithm, &d, arch, "", defines...)
		m.Name = fmt.Sprintf("%s_%s_%s", collective, algorithm, d.Name) // one architecture: no suffix
		for _, op := range ops {
			all = append(all, Kernel{Module: m, Entry: template + "_" + string(op), DType: d, Op: op})
		}
	}
	return all
}

// multimemOps returns the operations of multimem.ld_reduce for an element type, the first
// architecture that has them, and the macros that select them.
func multimemOps(d DType) (Arch, []Op, []string) {
	switch {
	case d.Kind != FloatingPoint && d.Size >= 4:
		return SM90, []Op{Sum, Avg, Min, Max}, []string{"WITH_AVG", "WITH_EXTREMA"}
	case d.Kind != FloatingPoint:
		return SM90, nil, nil
	case d.Size >= 4:
		return SM90, []Op{Sum, Avg}, []string{"WITH_AVG"}
	case d.Size == 2:
		return SM90, []Op{Sum, Min, Max}, []string{"WITH_EXTREMA"}
	default:
		return SM100a, []Op{Sum, Min, Max}, []string{"WITH_EXTREMA"}
	}
}

// Naive lists the kernels of kernels/naive, which reduce local copies for every collective that
// reduces.
func Naive() []Kernel {
	var all []Kernel
	for _, d := range DTypes() {
		m := Module{Name: "naive_" + d.Name, Source: "naive/naive.cu", Arch: SM80, Defines: []string{"ELEMENT=" + d.Element}}
		for _, op := range Ops() {
			all = append(all, Kernel{Module: m, Entry: "naive_any", DType: d, Op: op})
		}
	}
	return all
}
