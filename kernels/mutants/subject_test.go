package mutants

import (
	"fmt"
	"maps"
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
	share int
	text  []byte
	// task is that of a rank with another text of the module.
	task func(text []byte) (func(*check.Rank) error, error)
	// early is the same with programmatic dependent launches; nil: there are none.
	early func(text []byte) (func(*check.Rank) error, error)

	mu      sync.Mutex
	steps   int             // of the original under the first schedule
	reached map[string]bool // by the text with a trap, as far as known
	pending string          // what the checker does not model of the original, or why it cannot run
}

// attempt runs the calls with some text of the module once, for mutants of a class. The error is that of the ranks.
func (s *subject) attempt(c *check.Checker, class mutate.Class, text []byte, seed uint64) (*check.Report, error) {
	with := s.task
	if class == mutate.DependencyLost && s.early != nil {
		with = s.early
	}
	task, err := with(text)
	if err != nil {
		return &check.Report{}, err
	}
	return c.Run(seed, task)
}

// checker is one for a text of the module: mutants that wait for ever end after some times the original's steps. The
// model is that of PTX, since hardware orders what follows a relaxed poll.
func (s *subject) checker() (*check.Checker, error) {
	return check.New(check.Config{
		Ranks: s.world, Major: s.major, SMs: s.sms, Steps: 3*s.steps + 4096, Model: check.ModelPTX,
	})
}

// try runs the original, which must be free of findings. It notes what is not modeled.
func (s *subject) try() error {
	c, err := check.New(check.Config{Ranks: s.world, Major: s.major, SMs: s.sms})
	if err != nil {
		return err
	}
	r, err := s.attempt(c, "", s.text, 0)
	switch {
	case err != nil && (strings.Contains(err.Error(), "does not model") || strings.Contains(err.Error(), "no multicast")):
		s.pending = err.Error()
		return nil
	case err != nil:
		return fmt.Errorf("%s, %s: %w", s.name, s.entry, err)
	case len(r.Findings) > 0:
		s.pending = fmt.Sprintf("the original has a finding: %v", r.Findings[0])
		return nil
	}
	s.steps, s.pending = r.Steps, strings.Join(r.Incomplete, "; ")
	return nil
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
