// Package flags lists the flags of gpurun's commands, and says which of them mean something
// to a collective. They have no defaults of their own: package sources reads those.
package flags

import (
	"slices"

	"github.com/spf13/pflag"

	"gpurun/kernels/collective"
)

// flag is a flag of commands that run collectives.
type flag struct {
	name, short string
	boolean     bool
	list        bool // may be repeated
	usage       string
	// need is what a collective must have for the flag to mean something.
	need need
}

// need is something that a flag is about.
type need int

const (
	needNothing need = iota
	needData
	needOps
	needRoot
	needEpilogue
	needProduct
)

// lacking says why a collective has no use for a flag, or returns "".
func (n need) lacking(c *collective.Collective) string {
	switch {
	case n == needData && c.Shape.Empty:
		return "it moves no data"
	case n == needOps && !c.Shape.Reduces:
		return "it does not reduce"
	case n == needRoot && c.Shape.Root == collective.NoRoot:
		return "it has no root"
	case n == needEpilogue && !HasEpilogues(c):
		return "it has no epilogues"
	case n == needProduct:
		return "it multiplies no matrices"
	}
	return ""
}

// HasEpilogues reports whether any algorithm of a collective has one.
func HasEpilogues(c *collective.Collective) bool {
	return slices.ContainsFunc(c.Algorithms, func(a *collective.Algorithm) bool {
		return slices.ContainsFunc(a.Kernels, func(k collective.Kernel) bool { return k.Epilogue != collective.NoEpilogue })
	})
}

// list are the flags of collectives. Those of nccl-tests have its names.
func list() []flag {
	return []flag{
		{name: "minbytes", short: "b", need: needData, usage: "first `size`: bytes of the larger of a rank's buffers, with K, M or G for powers of 1024"},
		{name: "maxbytes", short: "e", need: needData, usage: "last `size`, written as for --minbytes"},
		{name: "stepbytes", short: "i", need: needData, usage: "`bytes` from one size to the next, instead of a factor"},
		{name: "stepfactor", short: "f", need: needData, usage: "`factor` from one size to the next"},
		{name: "iters", short: "n", usage: "`number` of timed calls in each measurement"},
		{name: "warmup-iters", short: "w", usage: "`number` of untimed calls before the timed ones"},
		{name: "run-cycles", short: "N", usage: "`number` of times that the whole sweep runs"},
		{name: "op", short: "o", need: needOps, usage: "comma-separated reduction `operations`, or all"},
		{name: "datatype", short: "d", need: needData, usage: "comma-separated element `types`, or all"},
		{name: "root", short: "r", need: needRoot, usage: "`rank` that everything comes from or goes to"},
		{name: "unaligned", short: "u", boolean: true, need: needData, usage: "let buffers begin one element off their alignment, and parts end anywhere"},
		{name: "check", short: "c", usage: "`0|1`: 1 verifies every element, 0 none"},
		{name: "cudagraph", short: "G", usage: "capture the calls in a graph and replay it so many `times`, instead of launching each"},
		{name: "timeout", short: "T", usage: "`seconds` that a rank waits for another before the run fails"},
		{name: "output-file", short: "J", usage: "write the results as JSON to this `file` as well"},
		{name: "algo", usage: "comma-separated `algorithms`; or auto, the best for each size; or all of gpurun's own that can do what is asked here; nccl and nvshmem are libraries, to compare with"},
		{name: "min-busbw", list: true, usage: "fail with exit code 99 when a result has less bus bandwidth than this `threshold`, COLLECTIVE[/ALGORITHM][@SIZES]:GBPS, as 'allreduce@>=64M:300'"},
		{name: "max-latency", list: true, usage: "likewise when a result takes longer than this `threshold`, as 'allreduce@<=4K:20us'"},
		{name: "profile", usage: "`thresholds` for a GPU model: the name of built-in ones, a file, none; or auto, the built-in ones that fit"},
		{name: "junit", usage: "write the results as JUnit XML to this `file`"},
		{name: "prometheus", usage: "write the results to this `file` for the textfile collector of Prometheus' node exporter"},
		{name: "timing", boolean: true, usage: "say on stderr where the time of the run went, from the start of each process to its end; JSON has every rank's"},
		{name: "blocks", need: needData, usage: "launch grids of up to so many `blocks`, instead of as many as were measured to be best"},
		{name: "max-blocks", need: needData, usage: "let no grid have more `blocks`, and so take no more multiprocessors"},
		{name: "tuning", usage: "`file` with what auto goes by, as gpurun tune writes it; none: estimates alone"},
		{name: "explain", boolean: true, usage: "say on stderr which algorithm and how many blocks each size takes, and why"},
		{name: "epilogue", need: needEpilogue, usage: "what to do to the result before it is stored: `none|negate|scale|bias|rmsnorm`"},
		{name: "hidden", need: needEpilogue, usage: "`elements` of a row, for the epilogues bias and rmsnorm"},
		{name: "scale", need: needEpilogue, usage: "`factor` of the epilogue scale"},
		{name: "epsilon", need: needEpilogue, usage: "`number` that rmsnorm adds to the mean of the squares"},
		{name: "pdl", usage: "programmatic dependent launch, `on|off|auto`: auto is on from compute capability 9.0 on, but for small calls outside of graphs, on refuses algorithms without"},
		{name: "p2p", usage: "`auto|off`: off runs as if no GPU could reach another"},
		{name: "multicast", usage: "algorithms by NVLink multicast, `on|off|auto`: auto is on in the simulator and off on GPUs"},
		{name: "symm", usage: "how memory is shared, `auto|vmm|ipc|nvshmem|host`: auto is vmm where GPUs have it, else ipc"},
		{name: "nccl-lib", usage: "`file` of libnccl.so.2, for the algorithm nccl; else it is searched for"},
		{name: "nvshmem-lib", usage: "`file` of libnvshmem_host.so.3, for the algorithm nvshmem and --symm nvshmem; else it is searched for"},
		{name: "cublas-lib", need: needProduct, usage: "`file` of libcublas.so.13 or .12, for the algorithms cublas and nccl of products; else it is searched for"},
		{name: "seed", usage: "`seed` of the inputs"},
		{name: "sim-seed", usage: "`seed` of a disorder in the simulator that tears and delays stores as hardware may; 0: none"},
		{name: "output", usage: "`form` of the results: table, json, jsonl, csv or markdown"},
	}
}

// AddCollective adds the flags that mean something to a collective, and --inject.
func AddCollective(f *pflag.FlagSet, what *collective.Collective) {
	for _, flag := range list() {
		if flag.need.lacking(what) == "" {
			flag.add(f)
		}
	}
	AddInject(f)
}

// AddOnly adds those flags of collectives that have these names.
func AddOnly(f *pflag.FlagSet, names ...string) {
	for _, flag := range list() {
		if slices.Contains(names, flag.name) {
			flag.add(f)
		}
	}
}

// AddAllBut adds all flags of collectives but those that have these names.
func AddAllBut(f *pflag.FlagSet, names ...string) {
	for _, flag := range list() {
		if !slices.Contains(names, flag.name) {
			flag.add(f)
		}
	}
}

// add defines the flag, without a default: the configuration has it.
func (s flag) add(f *pflag.FlagSet) {
	if s.boolean {
		f.BoolP(s.name, s.short, false, s.usage)
		return
	}
	if s.list {
		f.StringSliceP(s.name, s.short, nil, s.usage)
		return
	}
	f.StringP(s.name, s.short, "", s.usage)
}

// NoSuch says why a collective lacks a flag that others have, or returns
// "". The word is a name or a shorthand.
func NoSuch(what *collective.Collective, word string) string {
	for _, flag := range list() {
		if word == flag.name || word == flag.short {
			if why := flag.need.lacking(what); why != "" {
				return what.Name + " takes no --" + flag.name + ": " + why
			}
		}
	}
	return ""
}

// Meaningless says of the first flag that was given and has no meaning for a collective
// why it has none, or returns "".
func Meaningless(f *pflag.FlagSet, what *collective.Collective) string {
	for _, flag := range list() {
		if why := NoSuch(what, flag.name); why != "" && f.Changed(flag.name) {
			return why
		}
	}
	return ""
}
