package result

import (
	"fmt"
	"strings"
)

// Check is one check of the machine.
type Check struct {
	Name    string `json:"name"`
	Status  Status `json:"status"`
	Summary string `json:"summary"`
	Advice  string `json:"advice,omitempty"` // what to do about it
}

// Status is how a check ended.
type Status string

// The ways in which a check ends.
const (
	StatusOK   Status = "OK"
	StatusWarn Status = "WARN"
	StatusFail Status = "FAIL"
)

// String reads "peer access: GPU 3 cannot reach GPU 5 (advice)".
func (c Check) String() string {
	text := c.Name + ": " + c.Summary
	if c.Advice != "" {
		text += " (" + c.Advice + ")"
	}
	return text
}

// Reasons says why a run did not pass, a sentence each, the worst first. It is
// empty for a run that passed.
func (r Report) Reasons() []string {
	if r.Passed {
		return nil
	}
	var all []string
	if wrong := r.wrong(); len(wrong) > 0 {
		text := fmt.Sprintf("%d of %s wrong", len(wrong), Count(len(r.Results), "result"))
		if complaints := wrong[0].Complaints(); len(complaints) > 0 {
			text += "; the first: " + complaints[0]
		}
		all = append(all, text)
	}
	if r.Failure != "" {
		all = append(all, r.Failure)
	}
	for _, c := range r.Checks {
		if c.Status == StatusFail {
			all = append(all, c.String())
		}
	}
	if r.Gate.Failed() {
		all = append(all, fmt.Sprintf("%s of thresholds; the first: %s", Count(len(r.Gate.Violations), "violation"),
			r.Gate.Violations[0].Text))
	}
	if len(all) == 0 {
		all = append(all, fmt.Sprintf("the run ended with exit code %d", r.ExitCode))
	}
	return all
}

// Verdict is "PASS", or "FAIL: " and the reasons, in one line.
func (r Report) Verdict() string {
	if r.Passed {
		return "PASS"
	}
	return "FAIL: " + strings.Join(strings.Fields(strings.Join(r.Reasons(), "; ")), " ")
}

// wrong lists the results with wrong elements.
func (r Report) wrong() []Result {
	var all []Result
	for _, x := range r.Results {
		if x.IsWrong() {
			all = append(all, x)
		}
	}
	return all
}

// IsWrong reports whether any element was found wrong.
func (r Result) IsWrong() bool { return r.Wrong != nil && *r.Wrong > 0 }
