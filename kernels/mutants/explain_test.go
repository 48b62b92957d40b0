package mutants

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"gpurun/cudart/sim/check/mutate"
)

// explanation says why mutants of a class are not killed with the right cause. Module and Entry are patterns as of
// path.Match, and Text is a regular expression for the whole line in the original, with single spaces. The
// class * is any.
type explanation struct {
	Verdict verdict `json:"verdict"`
	// Missed says that the mistake is one, and that the checker misses it. Other survivors are equivalent.
	Missed bool `json:"missed"`
	// Hardware says of a missed mistake that it is one under PTX alone: current GPUs execute the mutant as the original.
	Hardware bool         `json:"hardware"`
	Class    mutate.Class `json:"class"`
	Module   string       `json:"module"`
	Entry    string       `json:"entry"`
	Text     string       `json:"text"`
	Why      string       `json:"why"`
	// Adjacent wants a proof that the barrier orders nothing: mutate.Adjacent.
	Adjacent bool `json:"adjacent"`

	text  *regexp.Regexp
	found []result
}

// readExplanations reads explanations.json. Of those that match, the first one counts.
func readExplanations() (list []*explanation, err error) {
	text, err := os.ReadFile("explanations.json")
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("explanations.json: %w", err)
	}
	for _, e := range list {
		if e.text, err = regexp.Compile("^(?:" + e.Text + ")$"); err != nil {
			return nil, fmt.Errorf("explanations.json: %w", err)
		}
	}
	return list, nil
}

// explains reports whether an explanation is for a result.
func (e *explanation) explains(r result) bool {
	module, _ := path.Match(e.Module, r.module)
	entry, _ := path.Match(e.Entry, r.entry)
	class := e.Class == "*" || e.Class == r.Class
	line := e.text.MatchString(strings.Join(strings.Fields(r.Was), " "))
	return module && entry && class && line && e.Verdict == r.verdict && (!e.Adjacent || r.isAdjacent())
}

// isAdjacent reports whether a barrier orders nothing that another one does not.
func (r *result) isAdjacent() bool {
	if r.adjacent != nil {
		return *r.adjacent
	}
	ok, err := mutate.Adjacent(r.module, r.text, r.entry, r.Line)
	return ok && err == nil
}

// explained reports whether a result needs an explanation.
func (r *result) explained() bool {
	return !slices.Contains([]verdict{killed, byResult, unreached}, r.verdict)
}

// explain gives each result that needs an explanation to the first one that is for it, and tells survivors apart. It
// returns the results without an explanation, which are missed.
func explain(list []*explanation, results []result) (unexplained []result) {
	for i := range results {
		r := &results[i]
		if !r.explained() {
			continue
		}
		at := slices.IndexFunc(list, func(e *explanation) bool { return e.explains(*r) })
		if at < 0 {
			unexplained = append(unexplained, *r)
		}
		if r.verdict == survived {
			switch {
			case at >= 0 && !list[at].Missed:
				r.verdict = equivalent
			case at >= 0 && list[at].Hardware:
				r.verdict = harmless
			default:
				r.verdict = missed
			}
		}
		if at >= 0 {
			list[at].found = append(list[at].found, *r)
		}
	}
	return unexplained
}
