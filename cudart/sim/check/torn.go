package check

import (
	"strings"

	"gpurun/cudart/sim/check/finding"
	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/exec"
)

// Torn: a strong load of a vector may mix elements of two stores, where the code takes the vector for one value.
//
// Elements that are each tested by the code behind the load, such as the words of a packet with a flag in each, may
// arrive apart. Under ModelPTX every element is an access of its own; current GPUs access the pieces of [pieceBytes].
const Torn = finding.Torn

// pieceBytes are the bytes of a vector that current GPUs store at once: 16, and 8 of volatile stores, as measured on an
// H200 (package race, "Two models").
func pieceBytes(store *race.Operation) uint64 {
	if site, ok := store.Site.(exec.Site); ok && strings.Contains(site.Instruction().Opcode, ".volatile") {
		return 8
	}
	return 16
}

// tornFindings are the vectors that may be torn under the model.
func (r *run) tornFindings() []Finding {
	var all []Finding
	for _, t := range r.detector.Tears() {
		load, ok := t.Load.Op.Site.(exec.Site)
		if !ok {
			continue
		}
		f := Finding{
			Kind: Torn, Sides: []Access{access(t.Store), access(t.Load)}, Count: t.Count,
			Bytes: t.Load.Op.Bytes * uint64(t.Load.Op.Vector), Where: r.memory.describe(t.Address),
		}
		tested := load.TestedElements()
		switch {
		case !eachTested(tested, t.Load.Op, pieceBytes(t.Store.Op)):
			f.Cause = "a volatile store of 16 bytes is two of 8"
			f.Advice = "use relaxed accesses, or put a flag into each 8 bytes and test them all"
		case r.checker.cfg.Model == ModelPTX && !eachTested(tested, t.Load.Op, t.Load.Op.Bytes):
			f.Cause, f.Note = "each element of a vector is an access of its own", true
			f.Advice = "use one element of the vector's size, or put a flag into each element and test them all"
		default:
			continue
		}
		all = append(all, f)
	}
	return all
}

// eachTested reports whether the code tests an element of each piece of a vector. One piece needs no test.
func eachTested(tested uint32, load *race.Operation, piece uint64) bool {
	perPiece := max(1, int(piece/load.Bytes))
	for first := 0; first < load.Vector && perPiece < load.Vector; first += perPiece {
		if tested>>first&(1<<perPiece-1) == 0 {
			return false
		}
	}
	return true
}
