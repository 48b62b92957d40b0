package workload

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Skew makes a rank late on purpose: it enqueues every call that is verified so much later than the other ranks. A
// kernel that reads its peers' memory without waiting for them then reads what is not there yet.
type Skew struct {
	Rank int           `json:"rank"`
	By   time.Duration `json:"by"`
}

// maxSkew is more than any rank waits.
const maxSkew = 24 * time.Hour

// ParseSkew reads RANK=MS, as in "2=50": rank 2 is 50 ms late.
func ParseSkew(text string) (Skew, error) {
	rank, ms, _ := strings.Cut(text, "=")
	number, err := strconv.ParseUint(rank, 10, 31)
	late, lateErr := strconv.ParseFloat(ms, 64)
	by := late * float64(time.Millisecond)
	if err != nil || lateErr != nil || math.IsNaN(late) || by < 1 || by > float64(maxSkew) {
		return Skew{}, fmt.Errorf("skew %q: write RANK=MS, such as 2=50 for rank 2 to be 50 ms late", text)
	}
	return Skew{Rank: int(number), By: time.Duration(by)}, nil
}

// SkewOf is how late a rank is.
func (j Job) SkewOf(rank int) time.Duration {
	for _, s := range j.Skew {
		if s.Rank == rank {
			return s.By
		}
	}
	return 0
}

// checkSkew refuses a skew that has no effect, and one for which the other ranks do not wait.
func (j Job) checkSkew(world int) error {
	seen := map[int]bool{}
	for _, s := range j.Skew {
		switch {
		case s.Rank < 0 || s.Rank >= world:
			return usagef("cannot make rank %d late: the ranks are 0 to %d", s.Rank, world-1)
		case seen[s.Rank]:
			return usagef("rank %d is made late twice: give --skew once for each rank", s.Rank)
		case !j.Verify:
			return usagef("--skew makes a rank late in calls that are verified, and verification is off")
		case j.Timeout > 0 && s.By >= j.Timeout:
			return usagef("rank %d would be %v late, and the other ranks wait %v: make --timeout longer", s.Rank, s.By,
				j.Timeout)
		}
		seen[s.Rank] = true
	}
	return nil
}
