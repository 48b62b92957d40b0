// Package hang describes kernels that do not end: on which ranks, and what their blocks wait for.
package hang

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ianlancetaylor/demangle"

	"gpurun/cudart"
)

// Report is what one rank says about its own kernel that does not end. Ranks exchange it as JSON.
type Report struct {
	What  string        `json:"what"`  // the kernel, or the algorithm where the device does not tell
	After time.Duration `json:"after"` // how long the rank has waited
	Where string        `json:"where"` // what its blocks wait for
}

// NewReport describes what has not ended after so long. algorithm names what was called. kernels are those that run,
// of a device that tells; known says whether it does.
func NewReport(algorithm string, after time.Duration, kernels []cudart.RunningKernel, known bool) Report {
	r := Report{What: algorithm, After: after}
	switch {
	case !known:
		r.Where = "the driver does not tell where its kernels wait; --device sim runs the same kernels and does " +
			"(--timeout allows more time)"
	case len(kernels) == 0:
		r.Where = "no kernel runs: a copy, or a wait of a stream, has not ended"
	default:
		r.What, r.Where = readable(kernels[0].Name), describe(kernels[0])
		for _, k := range kernels[1:] {
			r.Where += fmt.Sprintf("; %s has not ended either: %s", readable(k.Name), describe(k))
		}
	}
	return r
}

// readable is the name of a kernel as its author wrote it, without the arguments of templates.
func readable(name string) string {
	const maxNameBits = 10 // of the name, to 1 KB
	tree, err := demangle.ToAST(name, demangle.NoParams, demangle.NoTemplateParams)
	if err != nil { // not a name of C++
		return name
	}
	return demangle.ASTToString(tree, demangle.NoParams, demangle.NoTemplateParams, demangle.MaxLength(maxNameBits))
}

// Error is calls that have not ended in time. It names all ranks that hang.
type Error struct {
	Reports []*Report // by rank; nil: the rank did not report that it hangs
}

// Error reads "ranks 0 and 2: one_shot has not ended after 5s: blocks 0-3 of 24 have not ended; ...; rank 1 reports no
// hang".
func (e *Error) Error() string {
	type group struct {
		ranks []int
		Report
	}
	var groups []group
	var silent []int
	for rank, r := range e.Reports {
		if r == nil {
			silent = append(silent, rank)
			continue
		}
		i := slices.IndexFunc(groups, func(g group) bool { return g.What == r.What && g.Where == r.Where })
		if i < 0 {
			i, groups = len(groups), append(groups, group{Report: *r})
		}
		groups[i].ranks, groups[i].After = append(groups[i].ranks, rank), max(groups[i].After, r.After)
	}
	var all []string
	for _, g := range groups {
		all = append(all, fmt.Sprintf("%s: %s has not ended after %v: %s", numbered("rank", g.ranks), g.What, g.After,
			g.Where))
	}
	if len(silent) > 0 {
		verb := "report"
		if len(silent) == 1 {
			verb = "reports"
		}
		all = append(all, fmt.Sprintf("%s %s no hang", numbered("rank", silent), verb))
	}
	return strings.Join(all, "; ")
}

// Suspect is the only rank that does not hang, for which the others may wait.
func (e *Error) Suspect() (rank int, ok bool) {
	hung := func(r *Report) bool { return r != nil }
	rank = slices.Index(e.Reports, nil)
	return rank, rank >= 0 && !slices.Contains(e.Reports[rank+1:], nil) && slices.ContainsFunc(e.Reports, hung)
}
