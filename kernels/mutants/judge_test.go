package mutants

import (
	"slices"
	"strings"

	"gpurun/cudart/sim/check"
	"gpurun/cudart/sim/check/mutate"
)

// strategies are those of the schedules that a mutant is run under, at most, by their seeds.
var strategies = []check.Strategy{check.Random, check.Late, check.PCT, check.Bounded, check.Random, check.Late}

// more is how many schedules a mutant is run under for the table, before it counts as survived.
const more = 30

// schedules is how many schedules a mutant is run under, at most.
func (s *subject) schedules() int {
	if s.thorough && s.major == 0 { // runs of products take long
		return more
	}
	return len(strategies)
}

// strategyOf is the strategy of a seed. Those behind strategies are for mistakes that show in rare orders.
func strategyOf(seed int) check.Strategy {
	if seed >= len(strategies) && seed%2 == 0 {
		return check.PCT
	}
	return strategies[seed%len(strategies)]
}

// enough is the schedule behind which a mutant that shows otherwise is run no more.
const enough = 1

// result is what became of a mutant.
type result struct {
	*subject
	*mutate.Mutant
	verdict   verdict
	schedules int    // that were needed, or all
	adjacent  *bool  // of a record: what isAdjacent was
	detail    string // the finding, the error, or what is not modeled
}

// verdict is how a mutant ended.
type verdict string

// The verdicts, in the order of the table's columns.
const (
	killed      verdict = "killed"       // by a finding with the right cause that names the lines
	byResult    verdict = "by result"    // by a wrong result of a rank, in a class where nothing else can tell
	noted       verdict = "note"         // by a finding of that kind which PTX alone forbids
	otherCause  verdict = "other cause"  // by a finding that does not say what the mistake is
	wrongResult verdict = "result only"  // by a wrong result or a wait without an end, alone
	survived    verdict = "survived"     //
	incomplete  verdict = "not modeled"  // nothing was found, and something is not modeled
	unreached   verdict = "not reached"  // no call gets to the line of the mistake
	refused     verdict = "not runnable" // the module is not accepted

	// Survivors: no mistakes, mistakes under PTX that current GPUs do not show, and others.
	equivalent verdict = "equivalent"
	harmless   verdict = "harmless"
	missed     verdict = "missed"
)

var verdicts = []verdict{killed, byResult, noted, otherCause, wrongResult, survived, incomplete, unreached, refused}

// judge runs a mutant until it is killed with the right cause.
func (s *subject) judge(m *mutate.Mutant) (result, error) {
	r, err := s.judgePresent(m)
	if err != nil {
		return r, err
	}
	return s.judgeAbsent(m, r)
}

// judgePresent runs it with all ranks.
func (s *subject) judgePresent(m *mutate.Mutant) (result, error) {
	best := result{subject: s, Mutant: m, verdict: survived, schedules: s.schedules()}
	checker, err := s.checker()
	if err != nil {
		return best, err
	}
	text := m.Text(s.text)
	for seed := range s.schedules() {
		if seed >= len(strategies) && !slices.Contains([]verdict{survived, otherCause, wrongResult}, best.verdict) {
			break
		}
		report, err := s.attempt(checker, m.Class, text, seed)
		v, detail := s.verdictOf(m, report, err, seed)
		if v == byResult {
			v, detail = s.traced(checker, m, report, seed, detail)
		}
		if v == killed || v == refused || slices.Index(verdicts, v) < slices.Index(verdicts, best.verdict) ||
			v == incomplete && best.verdict == survived {
			best.verdict, best.detail, best.schedules = v, detail, seed+1
		}
		if v == killed || v == refused || seed == enough && slices.Contains([]verdict{byResult, noted}, best.verdict) {
			return best, nil
		}
		if seed > 0 || v != survived {
			continue
		}
		if reached, err := s.reaches(m); err != nil {
			return best, err
		} else if !reached {
			if m.Other != nil {
				return s.judgePresent(m.Other)
			}
			best.verdict, best.schedules = unreached, 1
			return best, nil
		}
	}
	return best, nil
}

// traced judges a wrong result by where it comes from, which another run of the same schedule tells.
func (s *subject) traced(c *check.Checker, m *mutate.Mutant, r *check.Report, seed int, detail string) (
	verdict, string,
) {
	task, err := s.taskOf(m.Class, m.Text(s.text), seed)
	if err != nil {
		return byResult, detail
	}
	all := r.Explored(nil)
	c.Diagnose(all, task)
	for _, f := range all.Findings {
		if f.Kind == check.WrongResult && right(m, &f.Finding) {
			return killed, f.String()
		}
	}
	return byResult, detail
}

// verdictOf judges the run of a seed.
func (s *subject) verdictOf(m *mutate.Mutant, r *check.Report, err error, seed int) (verdict, string) {
	var note, other, result string
	for _, f := range r.Findings {
		switch {
		case f.Kind == check.WrongResult:
			result = f.String()
		case f.Note && seed >= len(strategies): // the original may have it, too
		case (f.Note || s.varies(seed)) && s.isKnown(&f):
		case right(m, &f) && f.Note:
			note = f.String()
		case right(m, &f):
			return killed, f.String()
		case other == "":
			other = f.String()
		}
	}
	switch {
	case result != "" && expectations[m.Class].result:
		return byResult, result
	case note != "":
		return noted, note
	case other != "":
		return otherCause, other
	case result != "":
		return wrongResult, result
	case err != nil && strings.Contains(err.Error(), "CUDA_ERROR_INVALID_PTX"):
		return refused, err.Error()
	case err != nil && s.failsUnder(seed):
		return survived, ""
	case err != nil:
		return wrongResult, err.Error()
	case len(r.Incomplete) > 0:
		return incomplete, strings.Join(r.Incomplete, "; ")
	}
	return survived, ""
}
