package links

import "fmt"

// turn is a rank's part in a turn of the check of all pairs.
type turn struct {
	name     string // what the turn checks
	to, from int    // the rank that this rank writes to, and the one that writes to this rank; or nobody
}

const nobody = -1

// pairTurns are a rank's turns, in which every ordered pair comes once: one pair in each, or,
// together, every rank writes to the one at a distance.
func pairTurns(rank, world int, together bool) (turns []turn) {
	if together {
		for d := 1; d < world; d++ {
			turns = append(turns, turn{
				fmt.Sprintf("the links from every rank at once, by a distance of %d", d),
				(rank + d) % world, (rank - d + world) % world,
			})
		}
		return turns
	}
	for from := range world {
		for to := range world {
			if from == to {
				continue
			}
			t := turn{fmt.Sprintf("the link from rank %d to rank %d", from, to), nobody, nobody}
			switch rank {
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
