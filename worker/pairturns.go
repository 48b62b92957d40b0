package worker

import "fmt"

// pairTurn is a rank's part in a turn of the check of all pairs.
type pairTurn struct {
	name     string // what the turn checks
	to, from int    // whom it writes to, and who writes to it; or nobody
}

const nobody = -1

// pairTurns are the turns in which all ordered pairs come once: a pair each, or, where
// the job has them write together, every rank to the one at a distance.
func (r *rank) pairTurns() (turns []pairTurn) {
	if r.Job.PairsTogether {
		for d := 1; d < r.WorldSize; d++ {
			turns = append(turns, pairTurn{
				fmt.Sprintf("the links from every rank at once, by a distance of %d", d),
				(r.Rank + d) % r.WorldSize, (r.Rank - d + r.WorldSize) % r.WorldSize,
			})
		}
		return turns
	}
	for from := range r.WorldSize {
		for to := range r.WorldSize {
			if from == to {
				continue
			}
			t := pairTurn{fmt.Sprintf("the link from rank %d to rank %d", from, to), nobody, nobody}
			switch r.Rank {
			case from:
				t.to = to
			case to:
				t.from = from
			}
			turns = append(turns, t)
		}
	}
	return turns
}
