package result

import "fmt"

// Gate is how verified results compare with thresholds.
type Gate struct {
	// Profile names the collection of thresholds that was gone by, if any.
	Profile string `json:"profile,omitempty"`
	// Note says what was not judged, and why.
	Note       string      `json:"note,omitempty"`
	Rules      []GateRule  `json:"rules"`
	Violations []Violation `json:"violations"`
}

// GateRule is a threshold.
type GateRule struct {
	Rule       string  `json:"rule"`   // as package gate writes it: "allreduce@>=64M:300"
	Source     string  `json:"source"` // who says so
	Collective string  `json:"collective"`
	Metric     string  `json:"metric"` // "busbw" or "latency"
	Limit      float64 `json:"limit"`  // GB/s at least, or microseconds at most
	Matched    int     `json:"matched"`
	// Worst is, of the results that matched, the one nearest to the limit or
	// furthest beyond it; nil when none matched.
	Worst *float64 `json:"worst,omitempty"`
}

// Violation is a result on the wrong side of a threshold, or a threshold that no
// result was held against.
type Violation struct {
	Rule   string `json:"rule"`
	Source string `json:"source"`
	// Result is the index of the result; nil: there was none.
	Result *int    `json:"result,omitempty"`
	Want   float64 `json:"want"` // unit as the rule's
	Got    float64 `json:"got"`
	Text   string  `json:"text"` // a sentence for people
}

// Failed reports whether there is a violation.
func (g *Gate) Failed() bool { return g != nil && len(g.Violations) > 0 }

// String counts: "2 rules: OK".
func (g *Gate) String() string {
	switch rules := count(len(g.Rules), "rule"); {
	case g.Failed():
		return rules + ": " + count(len(g.Violations), "violation") + " FAILED"
	case len(g.Rules) == 0:
		return "none"
	default:
		return rules + ": OK"
	}
}

// count puts a number before a noun.
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
