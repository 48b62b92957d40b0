package reference

import "gpurun/kernels/collective"

// Source is where the elements of an output come from.
type Source int

// The sources of elements.
const (
	Reduced   Source = iota // the reduction of all ranks' inputs
	Copied                  // one rank's input, to the bit
	Untouched               // no rank writes them
)

// Segment is a run of elements of an output that have one source.
type Segment struct {
	At, Count int64 // elements of the output
	Source    Source
	From      int   // the rank that elements are copied from
	First     int64 // the element of the inputs that the first one comes from
}

// Output lists the segments of a rank's output, in order, for a collective of a
// shape with parts of count elements. One that moves nothing has none. In place, an
// output that the rank does not receive still holds the rank's own input.
func Output(s collective.Shape, rank, world, root int, count int64, inPlace bool) []Segment {
	var first int64 // element of the inputs that this rank receives
	if s.Send == collective.PartPerRank {
		first = int64(rank) * count
	}
	switch {
	case s.Empty:
		return nil
	case s.Root == collective.RootIsDestination && rank != root:
		return unreceived(s, rank, world, count, inPlace)
	case s.Reduces:
		return []Segment{{Count: count, Source: Reduced, First: first}}
	case s.Recv == collective.PartPerRank:
		return fromEach(world, count, first)
	}
	return []Segment{{Count: count, Source: Copied, From: root, First: first}}
}

// fromEach lists one part from every rank: the part that begins at first in the rank's input.
func fromEach(world int, count, first int64) []Segment {
	segments := make([]Segment, world)
	for from := range segments {
		segments[from] = Segment{At: int64(from) * count, Count: count, Source: Copied, From: from, First: first}
	}
	return segments
}

// unreceived is the output of a rank that receives nothing. It is untouched; in place it still
// contains the rank's input.
func unreceived(s collective.Shape, rank, world int, count int64, inPlace bool) []Segment {
	parts := []Segment{{Count: count, Source: Untouched}}
	own := 0
	if s.Recv == collective.PartPerRank {
		parts, own = make([]Segment, world), rank
		for i := range parts {
			parts[i] = Segment{At: int64(i) * count, Count: count, Source: Untouched}
		}
	}
	if inPlace {
		parts[own].Source, parts[own].From = Copied, rank
	}
	return parts
}
