package result

import "fmt"

// Gate is how verified results compare with thresholds.
type Gate struct {
	// Profile is the name of the profile whose thresholds were applied, if any.
	Profile string `json:"profile,omitempty"`
	// Note says which results no threshold was applied to, and why.
	Note       string      `json:"note,omitempty"`
	Rules      []GateRule  `json:"rules"`
	Violations []Violation `json:"violations"`
}

// GateRule is a threshold.
type GateRule struct {
	Rule       string  `json:"rule"`   // as package gate writes it: "allreduce@>=64M:300"
	Source     string  `json:"source"` // where the limit comes from
	Collective string  `json:"collective"`
	Metric     string  `json:"metric"` // "busbw" or "latency"
	Limit      float64 `json:"limit"`  // GB/s at least, or microseconds at most
	Matched    int     `json:"matched"`
	// Worst is, of the results that matched, the one nearest to the limit or
	// furthest beyond it; nil when none matched.
	Worst *float64 `json:"worst,omitempty"`
}

// Violation is a result that misses a threshold, or a threshold that applies to no
// result.
type Violation struct {
	Rule   string `json:"rule"`
	Source string `json:"source"`
	// Result is the index of the result; nil: the threshold applies to none.
	Result *int    `json:"result,omitempty"`
	Want   float64 `json:"want"` // unit as the rule's
	Got    float64 `json:"got"`
	Text   string  `json:"text"` // a sentence for people
}

// Failed reports whether there is a violation.
func (g *Gate) Failed() bool { return g != nil && len(g.Violations) > 0 }

// String counts: "2 rules: OK".
func (g *Gate) String() string {
	switch rules := Count(len(g.Rules), "rule"); {
	case g.Failed():
		return rules + ": " + Count(len(g.Violations), "violation") + " FAILED"
	case len(g.Rules) == 0:
		return "none"
	default:
		return rules + ": OK"
	}
}

// Count reads "1 rule" or "2 rules".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
