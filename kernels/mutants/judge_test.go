package mutants

import (
	"slices"
	"strings"

	"gpurun/cudart/sim/check"
	"gpurun/cudart/sim/check/mutate"
	"gpurun/cudart/sim/check/race"
)

// schedules is the most that a mutant is run under.
const schedules = 4

// result is what became of a mutant.
type result struct {
	*subject
	*mutate.Mutant
	verdict   verdict
	schedules int    // that were needed, or all
	detail    string // the finding, the error, or what is not modeled
}

// verdict is how a mutant ended.
type verdict string

// The verdicts, in the order of the table's columns.
const (
	killed      verdict = "killed"       // by a finding with the right cause that names the lines
	otherCause  verdict = "other cause"  // by a finding that does not say what the mistake is
	wrongResult verdict = "result only"  // by a wrong result or a wait without an end, alone
	survived    verdict = "survived"     //
	incomplete  verdict = "not modeled"  // nothing was found, and something is not modeled
	unreached   verdict = "not reached"  // no call gets to the line of the mistake
	refused     verdict = "not runnable" // the module is not accepted
)

var verdicts = []verdict{killed, otherCause, wrongResult, survived, incomplete, unreached, refused}

// judge runs a mutant until it is killed with the right cause.
func (s *subject) judge(m *mutate.Mutant) (result, error) {
	best := result{subject: s, Mutant: m, verdict: survived, schedules: schedules}
	checker, err := s.checker()
	if err != nil {
		return best, err
	}
	text := m.Text(s.text)
	for seed := range uint64(schedules) {
		report, err := s.attempt(checker, m.Class, text, seed)
		v, detail := verdictOf(m, report, err)
		if v == killed || v == refused || slices.Index(verdicts, v) < slices.Index(verdicts, best.verdict) ||
			v == incomplete && best.verdict == survived {
			best.verdict, best.detail, best.schedules = v, detail, int(seed)+1
		}
		if v == killed || v == refused {
			return best, nil
		}
		if seed > 0 || v != survived {
			continue
		}
		if reached, err := s.reaches(m); err != nil {
			return best, err
		} else if !reached {
			if m.Other != nil {
				return s.judge(m.Other)
			}
			best.verdict, best.schedules = unreached, 1
			return best, nil
		}
	}
	return best, nil
}

// verdictOf judges one run.
func verdictOf(m *mutate.Mutant, r *check.Report, err error) (verdict, string) {
	var other, result string
	for _, f := range r.Findings {
		switch {
		case right(m, &f):
			return killed, f.String()
		case f.Kind == check.WrongResult:
			result = f.String()
		case other == "":
			other = f.String()
		}
	}
	switch {
	case other != "":
		return otherCause, other
	case result != "":
		return wrongResult, result
	case err != nil && strings.Contains(err.Error(), "CUDA_ERROR_INVALID_PTX"):
		return refused, err.Error()
	case err != nil:
		return wrongResult, err.Error()
	case len(r.Incomplete) > 0:
		return incomplete, strings.Join(r.Incomplete, "; ")
	}
	return survived, ""
}

// right reports whether a finding says what a mistake is: its cause, and all that took part.
func right(m *mutate.Mutant, f *check.Finding) bool {
	if f.Kind == check.WrongResult || slices.ContainsFunc(f.Sides, isNowhere) {
		return false
	}
	switch m.Class {
	case mutate.ScopeGPU, mutate.ScopeBlock:
		return f.Cause == race.NarrowScope.String() && names(f, m.Line)
	case mutate.RelaxedWeak:
		return names(f, m.Line)
	case mutate.ReleaseWeak, mutate.AcquireWeak:
		return names(f, m.Line) || f.Cause == race.NoOrder.String()
	}
	return true
}

// isNowhere reports whether a side is neither a line nor a command.
func isNowhere(a check.Access) bool { return a.Line == 0 && a.Command == "" }

// names reports whether a finding names a line: as a side, or in the flag between them.
func names(f *check.Finding, line int) bool {
	at := func(a check.Access) bool { return a.Line == line }
	return slices.ContainsFunc(f.Sides, at) || f.Flag != nil && slices.ContainsFunc(f.Flag[:], at)
}
