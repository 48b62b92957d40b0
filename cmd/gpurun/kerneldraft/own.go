package kerneldraft

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"gpurun/cmd/gpurun/suggest"
	"gpurun/kernels"
	"gpurun/kernels/collective"
	"gpurun/kernels/ptx"
)

// File is one to write.
type File struct {
	Name string
	Text []byte
}

// recipe says, in expressions of a kernel file, what an algorithm's Enqueue computes. All of these algorithms launch
// one kernel, whose only argument is a collective.Params.
type recipe struct {
	// shared is the number of vectors of 16 bytes that the blocks divide.
	shared string
	// tile is the most bytes that a block takes at a time; empty: the kernel has no tiles.
	tile string
	// scratch is the bytes of the scratch; empty: it has none.
	scratch string
	// bulk: the kernel makes bulk copies, by blocks of a fixed size with shared memory: see BulkLaunch.
	bulk bool
}

const (
	wholePart   = "vectors"
	shareOfPart = "ceil(ceil(bytes / world) / 16)"
	// shareBesideRoot is for kernels in which all ranks but the root divide a part.
	shareBesideRoot = "ceil(ceil(bytes / max(world - 1, 1)) / 16)"
)

// The most bytes of a tile that fit into a slot: see TiledLaunch.
var (
	packetTile  = fmt.Sprintf("16 * floor(%d / world / 16)", collective.PacketSlotBytes/2)
	mailboxTile = fmt.Sprintf("16 * floor(%d / world / 16)", collective.MailboxSlotBytes)
	spareTile   = mailboxTile + " - 16" // see PipelinedMailboxTile
	bothTiles   = fmt.Sprintf("16 * floor(%d / (2 * world) / 16)", collective.MailboxSlotBytes)
	slotTile    = fmt.Sprint(collective.SlotBytes)
	bulkTile    = fmt.Sprint(collective.BulkStageBytes)
	oneShotSlot = fmt.Sprint(2 * collective.SlotBytes * collective.MaxBlocks)
)

// recipes are those of the algorithms that a kernel file can express, by collective and algorithm.
var recipes = map[string]map[string]recipe{
	"allreduce": {
		"oneshot":         {shared: wholePart, tile: slotTile, scratch: oneShotSlot},
		"oneshot_ll":      {shared: wholePart, tile: packetTile},
		"oneshot_lamport": {shared: wholePart, tile: mailboxTile},
		"twoshot":         {shared: shareOfPart},
		"twoshot_lamport": {shared: shareOfPart, tile: bothTiles},
		"twoshot_push":    {shared: shareOfPart, scratch: oneShotSlot + " + 16 * (world - 1) * ceil(vectors / world)"},

		"multimem_oneshot": {shared: wholePart},
		"multimem_twoshot": {shared: shareOfPart},
	},
	"reducescatter": {
		"pull": {shared: wholePart}, "ll": {shared: wholePart, tile: packetTile}, "multimem": {shared: wholePart},
	},
	"allgather": {
		"pull": {shared: wholePart}, "push": {shared: wholePart}, "ll": {shared: wholePart, tile: packetTile},
		"multimem": {shared: wholePart}, "bulk": {shared: wholePart, tile: bulkTile, bulk: true},
	},
	"alltoall": {"push": {shared: wholePart}, "ll": {shared: wholePart, tile: packetTile}},
	"broadcast": {
		"p2p": {shared: shareBesideRoot}, "ll": {shared: wholePart, tile: packetTile}, "multimem": {shared: wholePart},
		"bulk": {shared: shareBesideRoot, tile: bulkTile, bulk: true},
	},
	"reduce": {
		"p2p": {shared: shareBesideRoot}, "ll": {shared: wholePart, tile: packetTile},
		"oneshot_lamport": {shared: wholePart, tile: mailboxTile},
		"twoshot_lamport": {shared: shareBesideRoot, tile: spareTile},
	},
	"gather":  {"p2p": {shared: wholePart}, "ll": {shared: wholePart, tile: packetTile}},
	"scatter": {"p2p": {shared: wholePart}, "ll": {shared: wholePart, tile: packetTile}},
}

// whyNot says why a kernel file does not express one of our algorithms.
func whyNot(c *collective.Collective, a *collective.Algorithm) string {
	switch {
	case a.Needs.Library != "":
		return "a library does it, and launches its kernels itself"
	case c.Shape.Empty:
		return "it moves no data, and has no input and output"
	}
	return "it takes more than the launch of one kernel, or a grid of a kind of its own"
}

// Own writes one of our algorithms as a kernel file, for these element types, and the PTX of its kernel.
func Own(of, algorithm string, types []collective.DType) ([]File, error) {
	c, ok := kernels.Find(of)
	if !ok {
		return nil, suggest.Unknown("collective", of, collectiveNames())
	}
	a, ok := c.Algorithm(algorithm)
	if !ok {
		return nil, suggest.Unknown("algorithm", algorithm, expressible(c))
	}
	r, ok := recipes[c.Name][a.Name]
	if !ok {
		return nil, fmt.Errorf("%s %s cannot be written as a kernel file: %s (of %s there is %s)", c.Name, a.Name,
			whyNot(c, a), c.Name, suggest.OrList(expressible(c)))
	}
	p, err := pickKernels(a, types)
	if err != nil {
		return nil, err
	}
	return append([]File{{a.Name + ".toml", []byte(r.text(c, a, p))}}, p.modules...), nil
}

func collectiveNames() []string {
	var names []string
	for _, c := range kernels.Collectives() {
		names = append(names, c.Name)
	}
	return names
}

// expressible are the algorithms of a collective that have a recipe.
func expressible(c *collective.Collective) []string {
	var names []string
	for _, a := range c.Algorithms {
		if _, ok := recipes[c.Name][a.Name]; ok {
			names = append(names, a.Name)
		}
	}
	if len(names) == 0 {
		names = []string{"none"}
	}
	return names
}

// picked are the kernels for some types: the modules, and the pattern of their names.
type picked struct {
	types, ops []string
	module     string // with {type} for the type
	entry      string
	modules    []File
}

// pickKernels finds the kernels that are not specialized by the number of ranks, each for the earliest architecture.
func pickKernels(a *collective.Algorithm, types []collective.DType) (p picked, err error) {
	p.ops = operations(a, types)
	for _, d := range types {
		k, ok := earliest(a, d)
		if !ok {
			var names []string
			for _, d := range a.DTypes() {
				names = append(names, d.Name)
			}
			return p, fmt.Errorf("%s %s has no kernel for %s (it has: %s)", a.Collective, a.Name, d.Name,
				strings.Join(names, ", "))
		}
		module := k.Module.Name + ".ptx"
		if !k.Any {
			module = strings.Replace(k.Module.Name, "_"+d.Name, "_{type}", 1) + ".ptx"
		}
		entry := k.Entry
		if a.Needs.Multicast && k.Op != collective.None {
			entry = strings.TrimSuffix(entry, string(k.Op)) + "{op}" // one kernel for each operation
		}
		if p.module != "" && (p.module != module || p.entry != entry) {
			return p, fmt.Errorf("the kernels for %s and %s are for different architectures: write a file for each",
				strings.Join(p.types, ", "), d.Name)
		}
		p.types, p.module, p.entry = append(p.types, d.Name), module, entry
		text, err := ptx.Source(k.Module.Name)
		if err != nil {
			return p, err
		}
		same := func(f File) bool { return f.Name == k.Module.Name+".ptx" }
		if !slices.ContainsFunc(p.modules, same) {
			p.modules = append(p.modules, File{k.Module.Name + ".ptx", text})
		}
	}
	if len(p.types) == 0 {
		return p, errors.New("there is no element type to write a file for")
	}
	return p, nil
}

// operations are those that the algorithm has for all of the types.
func operations(a *collective.Algorithm, types []collective.DType) (ops []string) {
	for _, op := range a.Ops() {
		lacks := func(d collective.DType) bool { return !a.Supports(d, op, collective.NoEpilogue) }
		if op != collective.None && !slices.ContainsFunc(types, lacks) {
			ops = append(ops, string(op))
		}
	}
	return ops
}

// earliest is the kernel of an algorithm for the earliest architecture.
func earliest(a *collective.Algorithm, d collective.DType) (best collective.Kernel, ok bool) {
	op := collective.Sum
	if slices.Contains(a.Ops(), collective.None) {
		op = collective.None
	}
	for _, k := range a.Kernels {
		fits := (k.Any || k.DType.Name == d.Name) && k.Op == op && k.Epilogue == collective.NoEpilogue && k.World == 0
		if fits && (!ok || k.Module.Arch.SM < best.Module.Arch.SM) {
			best, ok = k, true
		}
	}
	return best, ok
}
