package checkreport

import (
	"fmt"
	"io"
	"strings"

	"gpurun/worker/result/ci"
)

// WriteJUnit writes the cases as JUnit XML: a suite for each collective, with a case for each algorithm and number of
// ranks. A finding is a failure, unless it is a note; what was not checked is an error.
func WriteJUnit(w io.Writer, r Report) error {
	var all []ci.Case
	for _, c := range r.Cases {
		_, name, _ := strings.Cut(c.Name(), " ")
		out := ci.Case{Suite: "check." + c.Collective, Name: name, Seconds: c.Seconds}
		var texts []string
		for _, at := range c.Findings {
			f := r.Findings[at]
			if f.Note {
				continue
			}
			texts = append(texts, strings.Join(f.Text, "\n"))
			if out.Failure == nil {
				out.Failure = &ci.Problem{Type: f.Kind, Message: f.Message()}
			}
		}
		switch {
		case out.Failure != nil:
			out.Failure.Text = strings.Join(texts, "\n\n")
		case len(c.Incomplete) > 0:
			out.Error = &ci.Problem{
				Type: Incomplete, Message: fmt.Sprintf("not checked: %s", c.Incomplete[0]), Text: strings.Join(c.Incomplete, "\n"),
			}
		}
		all = append(all, out)
	}
	return ci.WriteCases(w, "gpurun check", all)
}
