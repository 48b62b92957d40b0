package reference

// Source is where the elements of an output come from.
type Source int

// The sources of elements.
const (
	Reduced   Source = iota // the reduction of all ranks' inputs
	Copied                  // one rank's input, to the bit
	Untouched               // nobody writes them
)

// Segment is a run of elements of an output that have one source.
type Segment struct {
	At, Count int64 // elements of the output
	Source    Source
	From      int   // the rank that elements are copied from
	First     int64 // the element of the inputs that the first one comes from
}

// Output lists the segments of a rank's output, in order, for a collective with
// parts of count elements. A collective that moves nothing has none.
func Output(collective string, rank, world, root int, count int64) []Segment {
	switch collective {
	case "allreduce":
		return []Segment{{Count: count, Source: Reduced}}
	case "reduce":
		if rank != root {
			return []Segment{{Count: count, Source: Untouched}}
		}
		return []Segment{{Count: count, Source: Reduced}}
	case "reducescatter":
		return []Segment{{Count: count, Source: Reduced, First: int64(rank) * count}}
	case "broadcast":
		return []Segment{{Count: count, Source: Copied, From: root}}
	case "allgather":
		return fromEach(world, count, 0)
	case "alltoall":
		return fromEach(world, count, int64(rank)*count)
	}
	return nil
}

// fromEach is a part from every rank: that which begins at first in its input.
func fromEach(world int, count, first int64) []Segment {
	segments := make([]Segment, world)
	for from := range segments {
		segments[from] = Segment{At: int64(from) * count, Count: count, Source: Copied, From: from, First: first}
	}
	return segments
}
