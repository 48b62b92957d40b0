package result

import (
	"fmt"
	"strconv"
)

// Further is what was verified after the sweep, without timing. If a call was wrong, the last of
// the results describes it, and is Untimed.
type Further struct {
	Calls   int64   `json:"calls"`
	Minutes float64 `json:"minutes"`
}

// String reads "verified 12,412 more calls in 2.0 minutes".
func (f Further) String() string {
	calls := "calls"
	if f.Calls == 1 {
		calls = "call"
	}
	return fmt.Sprintf("verified %s more %s in %.1f minutes", grouped(f.Calls), calls, f.Minutes)
}

// grouped writes a number with commas between thousands.
func grouped(n int64) string {
	text := strconv.FormatInt(n, 10)
	for at := len(text) - 3; at > 0; at -= 3 {
		text = text[:at] + "," + text[at:]
	}
	return text
}
