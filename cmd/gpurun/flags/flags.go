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
		{
			name: "minbytes", short: "b", need: needData,
			usage: "smallest `size`: bytes of the larger of a rank's buffers; K, M and G are powers of 1024",
		},
		{name: "maxbytes", short: "e", need: needData, usage: "largest `size`, written as for --minbytes"},
		{name: "stepbytes", short: "i", need: needData, usage: "`bytes` from one size to the next, in place of --stepfactor"},
		{name: "stepfactor", short: "f", need: needData, usage: "`factor` from one size to the next"},
		{name: "iters", short: "n", usage: "`number` of timed calls in each measurement"},
		{name: "warmup-iters", short: "w", usage: "`number` of untimed calls before the timed ones"},
		{name: "run-cycles", short: "N", usage: "`number` of times that the whole sweep runs"},
		{name: "op", short: "o", need: needOps, usage: "comma-separated reduction `operations`, or all"},
		{name: "datatype", short: "d", need: needData, usage: "comma-separated element `types`, or all"},
		{name: "root", short: "r", need: needRoot, usage: "`rank` that is the source or the destination of the data"},
		{
			name: "unaligned", short: "u", boolean: true, need: needData,
			usage: "begin buffers one element past an aligned address, and end parts at any element",
		},
		{name: "check", short: "c", usage: "`0|1`: 1 verifies every element, 0 none"},
		{
			name: "cudagraph", short: "G",
			usage: "capture the calls in a CUDA graph and replay it this number of `times`; 0 launches each call",
		},
		{
			name: "minutes", usage: "after the sweep, verify further calls for this `number` of minutes: new inputs in every " +
				"call, sizes in random order, no timing",
		},
		{name: "timeout", short: "T", usage: "`seconds` that a rank waits for another rank before the run fails"},
		{name: "output-file", short: "J", usage: "also write the results as JSON to this `file`"},
		{
			name: "algo", usage: "comma-separated `algorithms`; auto: the fastest for each size; " +
				"all: each of gpurun's own that supports the call; nccl and nvshmem are NVIDIA's libraries; nccl_symmetric is " +
				"NCCL on registered memory, for allreduce, allgather and reducescatter; " +
				"the path of a kernel file, such as mine.toml",
		},
		{
			name: "min-busbw", list: true,
			usage: "fail with exit code 99 if a result has less bus bandwidth than this `threshold`, " +
				"COLLECTIVE[/ALGORITHM][@SIZES]:GBPS (example: 'allreduce@>=64M:300')",
		},
		{
			name: "max-latency", list: true,
			usage: "fail with exit code 99 if a result takes longer than this `threshold` (example: 'allreduce@<=4K:20us')",
		},
		{
			name: "profile", usage: "`thresholds` for a GPU model: a built-in profile, a file, or none; " +
				"auto: the built-in profile of these GPUs",
		},
		{name: "junit", usage: "write the results as JUnit XML to this `file`"},
		{name: "html", usage: "write the results as a page for a browser to this `file`"},
		{
			name: "prometheus", usage: "write the results to this `file`, for the textfile collector of the Prometheus " +
				"node exporter",
		},
		{
			name: "trace", need: needData,
			usage: "write a timeline of one call to this `file`, for Perfetto or chrome://tracing: " +
				"the steps of a kernel file, or the tiles and copies of a product of matrices",
		},
		{
			name: "timing", boolean: true,
			usage: "print on stderr how long each phase of the run took, from process start to exit; " +
				"JSON has the phases of every rank",
		},
		{
			name: "blocks", need: needData,
			usage: "launch grids of at most this number of `blocks`, in place of the tuned number",
		},
		{
			name: "max-blocks", need: needData,
			usage: "limit every grid to this number of `blocks`, and so the multiprocessors in use",
		},
		{
			name: "tuning", usage: "`file` with the tuning table that auto uses, as gpurun tune writes it; " +
				"none: auto chooses by estimates",
		},
		{
			name: "explain", boolean: true, usage: "print on stderr which algorithm and how many blocks each size uses, and why",
		},
		{
			name: "epilogue", need: needEpilogue,
			usage: "operation on the result before it is stored: `none|negate|scale|bias|rmsnorm`",
		},
		{name: "hidden", need: needEpilogue, usage: "`elements` of a row, for the epilogues bias and rmsnorm"},
		{name: "scale", need: needEpilogue, usage: "`factor` of the epilogue scale"},
		{name: "epsilon", need: needEpilogue, usage: "`number` that rmsnorm adds to the mean of the squares"},
		{
			name: "pdl", usage: "programmatic dependent launch, `on|off|auto`; auto: on from compute capability 9.0, " +
				"except for small calls outside graphs; on: refuse algorithms without it",
		},
		{name: "p2p", usage: "peer access between GPUs, `auto|off`; off: run as if GPUs had none"},
		{
			name: "multicast", usage: "algorithms that use NVLink multicast, `on|off|auto`; " +
				"auto: on in the simulator, off on GPUs",
		},
		{
			name: "symm", usage: "how ranks share memory, `auto|vmm|ipc|nvshmem|host`; " +
				"auto: vmm if the GPUs support it, else ipc",
		},
		{
			name: "nccl-lib", usage: "`file` of libnccl.so.2, for the algorithms nccl and nccl_symmetric; " +
				"default: gpurun searches for it",
		},
		{
			name: "nvshmem-lib", usage: "`file` of libnvshmem_host.so.3, for the algorithm nvshmem and --symm nvshmem; " +
				"default: gpurun searches for it",
		},
		{
			name: "cublas-lib", need: needProduct,
			usage: "`file` of libcublas.so.13 or .12, for the algorithms cublas and nccl of products; " +
				"default: gpurun searches for it",
		},
		{name: "seed", usage: "`seed` of the inputs"},
		{
			name: "sim-seed", usage: "`seed` of disorder in the simulator: stores become visible late and out of order, " +
				"as PTX allows; 0: in order",
		},
		{
			name: "sim-arch", usage: "compute capability of the simulator's devices, `8.0|8.6|8.9|9.0|10.0`; " +
				"kernels with wgmma need 9.0",
		},
		{
			name: "sim-memory", usage: "vector accesses in the simulator, `hardware|ptx`; " +
				"hardware: up to 16 bytes at once, as on GPUs; " +
				"ptx: element by element, as PTX promises",
		},
		{name: "output", usage: "`format` of the results: table, json, jsonl, csv or markdown"},
	}
}

// AddCollective adds the flags that mean something to a collective, --inject and --skew.
func AddCollective(f *pflag.FlagSet, what *collective.Collective) {
	for _, flag := range list() {
		if flag.need.lacking(what) == "" {
			flag.add(f)
		}
	}
	AddInject(f)
	AddSkew(f)
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

// Inapplicable says why a collective lacks a flag that others have, or returns
// "". The word is a name or a shorthand.
func Inapplicable(what *collective.Collective, word string) string {
	for _, flag := range list() {
		if word == flag.name || word == flag.short {
			if why := flag.need.lacking(what); why != "" {
				return what.Name + " takes no --" + flag.name + ": " + why
			}
		}
	}
	return ""
}

// FirstInapplicable says of the first flag that was given and has no meaning for a collective
// why it has none, or returns "".
func FirstInapplicable(f *pflag.FlagSet, what *collective.Collective) string {
	for _, flag := range list() {
		why := Inapplicable(what, flag.name)
		switch {
		case why == "" || !f.Changed(flag.name):
			continue
		case flag.name == "root": // -r is the number of runs to hyperfine
			why += "; --rounds sets the number of samples"
		}
		return why
	}
	return ""
}
