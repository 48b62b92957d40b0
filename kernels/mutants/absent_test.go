package mutants

import (
	"slices"
	"strings"

	"gpurun/cudart/sim/check"
	"gpurun/cudart/sim/check/mutate"
)

// absentSeeds is the number of random schedules in which the last rank never comes.
const absentSeeds = 3

// judgeAbsent runs a mutant that has survived with a rank that never comes, and one in the load of a word that is
// written when a wait has timed out. Of other code behind time-outs, no mutant is judged. Where a part of the
// mutants is run, only those of such words are.
func (s *subject) judgeAbsent(m *mutate.Mutant, was result) (result, error) {
	words := []mutate.Class{mutate.RelaxedWeak, mutate.ScopeGPU, mutate.ScopeBlock} // of loads of such words
	switch {
	case s.absent == nil,
		was.verdict == survived && !s.thorough && !slices.Contains(words, m.Class),
		was.verdict == unreached && !m.ByTimeout(),
		was.verdict != survived && was.verdict != unreached:
		return was, nil
	}
	if was.verdict == unreached {
		r, err := s.attemptAbsent(m.Trap(s.text), 0)
		if r == nil || err == nil {
			return was, err
		}
		was.verdict = survived
	}
	known, err := s.absentOriginal()
	if err != nil {
		return was, err
	}
	for seed := range absentSeeds {
		r, err := s.attemptAbsent(m.Text(s.text), seed)
		if err != nil && strings.Contains(err.Error(), "CUDA_ERROR_INVALID_PTX") {
			return was, nil
		}
		if r == nil {
			return was, err
		}
		for _, f := range r.Findings {
			isKnown := slices.ContainsFunc(known, func(k check.Finding) bool { return same(&k, &f) })
			if !isKnown && !f.Note && right(m, &f) {
				return result{subject: s, Mutant: m, verdict: killed, detail: f.String(), schedules: seed + 1}, nil
			}
		}
	}
	return was, nil
}

// attemptAbsent runs calls in which the last rank never comes. The report is nil if it cannot run.
func (s *subject) attemptAbsent(text []byte, seed int) (*check.Report, error) {
	c, err := check.New(check.Config{
		Ranks: s.world, Major: s.major, SMs: s.sms, Model: check.ModelPTX, Processes: true, Expire: true,
	})
	if err != nil {
		return nil, err
	}
	task, err := s.absent(text)
	if err != nil {
		return nil, err
	}
	return c.Run(uint64(seed), task)
}

// absentOriginal are the findings of the original: host code of algorithms of the copy engine goes on behind a
// barrier that has failed.
func (s *subject) absentOriginal() ([]check.Finding, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.absentKnown {
		return s.absentFindings, nil
	}
	for seed := range absentSeeds {
		r, err := s.attemptAbsent(s.text, seed)
		if err != nil {
			return nil, err
		}
		s.absentFindings = append(s.absentFindings, r.Findings...)
	}
	s.absentKnown = true
	return s.absentFindings, nil
}
