package mutants

import (
	"errors"
	"strings"

	"gpurun/cudart/sim/check"
	"gpurun/cudart/sim/check/mutate"
	"gpurun/kernels/collective"
	"gpurun/kernels/ptx"
)

// subject is a kernel, and the calls that check its mutants.
type subject struct {
	name          string
	world         int
	module, entry string
	text          []byte
	run           func(r *check.Rank, source collective.Source) error
	reached       map[int]bool // lines, as far as known
}

// errWrong is what tasks report of results.
var errWrong = errors.New("the result is wrong")

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

// The verdicts.
const (
	killed      verdict = "killed"       // by a finding with the right cause that names the lines
	wrongCause  verdict = "other cause"  // by a finding that does not say what the mistake is
	wrongResult verdict = "result only"  // by a wrong result, or a wait without an end, alone
	incomplete  verdict = "incomplete"   // something is not modeled
	unreached   verdict = "not reached"  // no call gets to the line of the mistake
	refused     verdict = "not runnable" // the module is not accepted
	survived    verdict = "survived"
)

// attempt runs the module with some text once. The error is that of the ranks.
func (s *subject) attempt(c *check.Checker, text []byte, seed uint64) (*check.Report, error) {
	source := func(name string) ([]byte, error) {
		if name == s.module {
			return text, nil
		}
		return ptx.Source(name)
	}
	return c.Run(seed, func(r *check.Rank) error { return s.run(r, source) })
}

// judge runs a mutant until it is killed with the right cause.
func (s *subject) judge(m *mutate.Mutant) (result, error) {
	best := result{subject: s, Mutant: m, verdict: survived, schedules: schedules}
	checker, err := check.New(check.Config{Ranks: s.world, Steps: 1 << 15})
	if err != nil {
		return best, err
	}
	text := m.Text(s.text)
	for seed := range uint64(schedules) {
		report, err := s.attempt(checker, text, seed)
		v, detail := verdictOf(m, s.module, report, err)
		if v == killed || v == refused || rank(v) > rank(best.verdict) {
			best.verdict, best.detail, best.schedules = v, detail, int(seed)+1
		}
		if v == killed || v == refused {
			return best, nil
		}
		if v == survived && seed == 0 && !s.reaches(m) {
			best.verdict, best.schedules = unreached, 1
			return best, nil
		}
	}
	return best, nil
}

// rank orders verdicts by how much they say.
func rank(v verdict) int {
	return map[verdict]int{survived: 0, incomplete: 1, wrongResult: 2, wrongCause: 3, killed: 4, refused: 5}[v]
}

// reaches reports whether a run of the original gets to the line of the mistake.
func (s *subject) reaches(m *mutate.Mutant) bool {
	if at, ok := s.reached[m.Line]; ok {
		return at
	}
	checker, err := check.New(check.Config{Ranks: s.world, Steps: 1 << 15})
	if err != nil {
		return true
	}
	_, err = s.attempt(checker, m.Trap(s.text), 0)
	if s.reached == nil {
		s.reached = map[int]bool{}
	}
	s.reached[m.Line] = err != nil
	return err != nil
}

// verdictOf judges one run.
func verdictOf(m *mutate.Mutant, module string, r *check.Report, err error) (verdict, string) {
	for _, f := range r.Findings {
		if right(m, module, &f) {
			return killed, f.String()
		}
	}
	switch {
	case len(r.Findings) > 0:
		return wrongCause, r.Findings[0].String()
	case err != nil && strings.Contains(err.Error(), "CUDA_ERROR_INVALID_PTX"):
		return refused, err.Error()
	case err != nil:
		return wrongResult, err.Error()
	case len(r.Incomplete) > 0:
		return incomplete, strings.Join(r.Incomplete, "; ")
	}
	return survived, ""
}
