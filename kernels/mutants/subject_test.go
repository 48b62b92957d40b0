package mutants

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"gpurun/cudart/sim/check"
	"gpurun/cudart/sim/check/mutate"
)

// subject is a kernel, and the calls by which its mutants are judged.
type subject struct {
	name          string
	world         int
	major, sms    int // of the devices; 0: as the checker has them
	module, entry string
	// share is one in how many mutants are judged where all are wanted, because runs take long; 0: all of them.
	share    int
	thorough bool // the mutants are run under more schedules, for the table
	text     []byte
	// task is that of a rank with another text of the module.
	task func(text []byte) (func(*check.Rank) error, error)
	// pdl is the same with programmatic dependent launches; nil: there are none.
	pdl func(text []byte) (func(*check.Rank) error, error)
	// varied is the task of every other seed: with buffers that are not aligned, which lanes copy by their own accesses,
	// or with more tiles; nil: there is none. The lanes load whole vectors, of which they do not use what belongs to
	// neighbors: findings of the original.
	varied func(text []byte) (func(*check.Rank) error, error)
	// absent is a task in which the last rank never comes; nil: there is none.
	absent func(text []byte) (func(*check.Rank) error, error)

	mu      sync.Mutex
	steps   int             // of the original under the first schedule
	reached map[string]bool // by the text with a trap, as far as known
	pending string          // what the checker does not model of the original, or why it cannot run
	known   bool            // whether notes and fails are
	notes   []check.Finding // of the original under all schedules
	fails   map[int]bool    // the schedules under which the original does not end

	absentKnown    bool            // whether absentFindings are
	absentFindings []check.Finding // of the original
}

// attempt runs the calls with some text of the module once, for mutants of a class, by the strategy of a seed. The
// error is that of the ranks.
func (s *subject) attempt(c *check.Checker, class mutate.Class, text []byte, seed int) (*check.Report, error) {
	task, err := s.taskOf(class, text, seed)
	if err != nil {
		return &check.Report{}, err
	}
	strategy := strategyOf(seed)
	if s.major > 0 { // products, whose loops by the clock take long where others come last
		strategy = check.Random
	}
	return c.RunStrategy(strategy, uint64(seed), task)
}

// taskOf is the task of a seed, for mutants of a class.
func (s *subject) taskOf(class mutate.Class, text []byte, seed int) (func(*check.Rank) error, error) {
	switch {
	case class == mutate.DependencyLost && s.pdl != nil:
		return s.pdl(text)
	case s.varies(seed):
		return s.varied(text)
	}
	return s.task(text)
}

// checker is one for a text of the module: mutants that wait for ever end after some times the original's steps. The
// model is that of PTX: what hardware orders are notes.
func (s *subject) checker() (*check.Checker, error) {
	steps := 0
	if s.steps > 0 {
		steps = 16*s.steps + 4096
	}
	return check.New(check.Config{
		Ranks: s.world, Major: s.major, SMs: s.sms, Steps: steps, Model: check.ModelPTX, Processes: true,
	})
}

// try runs the original, which must be free of findings but for notes. It notes what is not modeled.
func (s *subject) try() error {
	c, err := s.checker()
	if err != nil {
		return err
	}
	r, err := s.attempt(c, "", s.text, 0)
	mistake := slices.IndexFunc(r.Findings, func(f check.Finding) bool { return !f.Note })
	switch {
	case err != nil && (strings.Contains(err.Error(), "does not model") || strings.Contains(err.Error(), "no multicast")):
		s.pending = err.Error()
		return nil
	case err != nil:
		return fmt.Errorf("%s, %s: %w", s.name, s.entry, err)
	case mistake >= 0:
		s.pending = fmt.Sprintf("the original has a finding: %v", r.Findings[mistake])
		return nil
	}
	s.steps, s.pending = r.Steps, strings.Join(r.Incomplete, "; ")
	return nil
}

// varies reports whether the task of a seed is the varied one.
func (s *subject) varies(seed int) bool {
	return s.varied != nil && seed%2 == 1 && seed < len(strategies)
}

// isKnown reports whether the original has a finding, too, under one of the schedules.
func (s *subject) isKnown(finding *check.Finding) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.learn()
	return slices.ContainsFunc(s.notes, func(f check.Finding) bool { return same(&f, finding) })
}

// failsUnder reports whether the original does not end under a schedule: threads that poll by compare-and-swap never
// wait, so that others come last for ever where priorities say so.
func (s *subject) failsUnder(seed int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.learn()
	if _, known := s.fails[seed]; !known {
		c, err := s.checker()
		if err == nil {
			_, err = s.attempt(c, "", s.text, seed)
		}
		s.fails[seed] = err != nil
	}
	return s.fails[seed]
}

// learn runs the original under all schedules, once.
func (s *subject) learn() {
	if s.known {
		return
	}
	s.known, s.fails = true, map[int]bool{}
	c, err := s.checker()
	if err != nil {
		return
	}
	for seed := range strategies {
		r, err := s.attempt(c, "", s.text, seed)
		s.notes = append(s.notes, r.Findings...)
		s.fails[seed] = err != nil
	}
}

// reaches reports whether a run of the original gets to the line of a mistake, in the threads that it concerns.
func (s *subject) reaches(m *mutate.Mutant) (bool, error) {
	text := m.Trap(s.text)
	s.mu.Lock()
	at, ok := s.reached[string(text)]
	s.mu.Unlock()
	if ok {
		return at, nil
	}
	checker, err := s.checker()
	if err != nil {
		return false, err
	}
	_, err = s.attempt(checker, m.Class, text, 0)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reached = maps.Clone(s.reached)
	if s.reached == nil {
		s.reached = map[string]bool{}
	}
	s.reached[string(text)] = err != nil
	return err != nil, nil
}
