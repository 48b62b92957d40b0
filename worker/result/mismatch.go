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
		sentences[i] = fmt.Sprintf("rank %d: %d of %d elements %s wrong %s: %s; the first is element %d: wanted %s",
			m.Rank, m.Wrong, m.Of, verb, m.Phase, r, m.Index, m.values())
	}
	return sentences
}

// values says what was wanted, and what was found.
func (m Mismatch) values() string {
	if m.Bound == "" {
		return m.Want + ", found " + m.Got
	}
	return fmt.Sprintf("%s (%s), found %s (%s): %s", m.WantValue, m.Want, m.GotValue, m.Got, m.Bound)
}
