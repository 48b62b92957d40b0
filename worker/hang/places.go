package hang

import (
	"cmp"
	"fmt"
	"slices"

	"gpurun/cudart"
)

// maxPlaces is how many places a description lists.
const maxPlaces = 6

// verbs say what one warp, and what several do.
var verbs = map[cudart.Activity]struct{ one, many string }{
	cudart.Polls: {"polls", "poll"}, cudart.Waits: {"waits at", "wait at"}, cudart.Runs: {"is at", "are at"},
}

// place is where warps of some blocks are.
type place struct {
	activity cudart.Activity
	at       cudart.Instruction
	blocks   []int
	warps    []int // of each of the blocks
}

// describe reads "blocks 0-3 of 24 have not ended; warp 0 of each polls ld.acquire.sys.u32 at one.ptx:412 (one.cu:88)".
func describe(k cudart.RunningKernel) string {
	var blocks []int
	for _, w := range k.Warps {
		if len(blocks) == 0 || blocks[len(blocks)-1] != w.Block {
			blocks = append(blocks, w.Block)
		}
	}
	text := fmt.Sprintf("%s of %d %s not ended", numbered("block", blocks), k.Blocks, plural(len(blocks), "has", "have"))
	if len(blocks) == 0 {
		text = "no block runs"
	}
	if k.Pending > 0 {
		text += fmt.Sprintf(", and %d %s not begun", k.Pending, plural(k.Pending, "has", "have"))
	}
	places := placesOf(k.Warps)
	if len(places) > 0 && places[0].activity == cudart.Runs {
		text += " and " + plural(len(blocks), "polls", "poll") + " nothing (--timeout allows more time)"
	}
	for i, p := range places {
		if i == maxPlaces {
			return text + fmt.Sprintf("; and %d more %s", len(places)-i, plural(len(places)-i, "place", "places"))
		}
		text += "; " + p.describe(blocks)
	}
	return text
}

// placesOf groups warps: those of a block that are in one place, and the blocks whose warps are in the same places.
// Polls come first, and waits last, because they wait for the others.
func placesOf(warps []cudart.RunningWarp) []place {
	type key struct {
		block    int
		activity cudart.Activity
		at       cudart.Instruction
	}
	ofBlock, order := map[key][]int{}, []key(nil)
	for _, w := range warps {
		k := key{w.Block, w.Activity, w.At}
		if ofBlock[k] == nil {
			order = append(order, k)
		}
		ofBlock[k] = append(ofBlock[k], w.Warp)
	}
	var places []place
	index := map[string]int{}
	for _, k := range order {
		own := ofBlock[k]
		same := fmt.Sprint(k.activity, k.at, own)
		i, seen := index[same]
		if !seen {
			i = len(places)
			index[same], places = i, append(places, place{activity: k.activity, at: k.at, warps: own})
		}
		places[i].blocks = append(places[i].blocks, k.block)
	}
	slices.SortStableFunc(places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.activity, b.activity), cmp.Compare(a.at.Line, b.at.Line))
	})
	return places
}

// describe reads "block 0 warps 1-3 wait at bar.sync at one.ptx:420"; all are the blocks that have not ended.
func (p place) describe(all []int) string {
	who, one := numbered("warp", p.warps), len(p.warps) == 1
	switch {
	case !slices.Equal(p.blocks, all):
		who = numbered("block", p.blocks) + " " + who
		one = one && len(p.blocks) == 1
	case len(all) > 1:
		who += " of each"
	default:
		who = fmt.Sprintf("its %s", who)
	}
	verb := verbs[p.activity].many
	if one {
		verb = verbs[p.activity].one
	}
	text := fmt.Sprintf("%s %s %s at %s:%d", who, verb, p.at.Opcode, p.at.Module, p.at.Line)
	if p.at.Function != "" {
		text += " in " + p.at.Function
	}
	if p.at.Source != "" {
		text += " (" + p.at.Source + ")"
	}
	return text
}
