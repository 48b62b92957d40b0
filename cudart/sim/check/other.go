package check

import "slices"

// otherFindings are the findings that are no race.
func (r *run) otherFindings() []Finding {
	return slices.Concat(r.others, r.staleFindings(), r.lostFindings(), r.tornFindings())
}
