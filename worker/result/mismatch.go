package result

import "fmt"

// Complaints describes the wrong elements, in a sentence for each rank.
func (r Result) Complaints() []string {
	sentences := make([]string, len(r.Mismatches))
	for i, m := range r.Mismatches {
		verb := "are"
		if m.Wrong == 1 {
			verb = "is"
		}
		sentences[i] = fmt.Sprintf("rank %d: %d of %d elements %s wrong %s: %s; the first is element %d: wanted %s, found %s",
			m.Rank, m.Wrong, m.Of, verb, m.Phase, r, m.Index, m.Want, m.Got)
	}
	return sentences
}
