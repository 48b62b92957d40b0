package phases

import (
	"fmt"
	"slices"
)

// A rank is late for a phase if it finishes at least noticeableMS after the rank before it. late names a rank that is
// late for leastPhases phases and by thresholdMS or more, by the median.
const (
	noticeableMS = 1
	thresholdMS  = 10
	leastPhases  = 3
)

// late says which rank finished phases last, how often and by how much, or is empty.
func (t Timing) late() string {
	behind := map[int][]float64{} // by rank, in milliseconds
	total := 0
	for p := Start; p <= Close; p++ {
		var ends []Row
		for _, r := range t.Ranks {
			i := slices.IndexFunc(r.Phases, func(row Row) bool { return row.Phase == p && !row.Concurrent })
			if i >= 0 {
				ends = append(ends, r.Phases[i])
			}
		}
		if len(ends) < len(t.Ranks) || len(ends) < 2 {
			continue
		}
		total++
		slices.SortStableFunc(ends, func(a, b Row) int { return int(a.end()*1e3) - int(b.end()*1e3) })
		last, before := ends[len(ends)-1], ends[len(ends)-2]
		if by := last.end() - before.end(); by >= noticeableMS {
			behind[last.Rank] = append(behind[last.Rank], by)
		}
	}
	text, worst := "", 0.0
	for _, r := range t.Ranks {
		by := slices.Sorted(slices.Values(behind[r.Rank]))
		if len(by) < leastPhases {
			continue
		}
		if median := (by[(len(by)-1)/2] + by[len(by)/2]) / 2; median >= thresholdMS && median > worst {
			worst = median
			text = fmt.Sprintf("rank %d finished last in %d of %d phases, %.1f ms after the others (median; at most %.1f ms)",
				r.Rank, len(by), total, median, by[len(by)-1])
		}
	}
	return text
}

func (r Row) end() float64 { return r.Begin + r.Time }
