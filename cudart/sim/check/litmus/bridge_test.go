package litmus

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"gpurun/cudart/sim/check"
)

// What a test's kernel does is what the model allows. The race checker runs all schedules of the kernel that differ, so
// the states in which it ends are those of all interleavings, which are among the model's; and the races are those of
// the model's sequentially consistent executions, for each result.
func TestKernelsAgree(t *testing.T) {
	most := 40 // tests of a family
	if os.Getenv("GPURUN_EXHAUSTIVE") == "1" {
		most = 1 << 20
	}
	var sum coverage
	all := families()
	for _, family := range slices.Sorted(maps.Keys(all)) {
		tests := all[family]
		slices.SortFunc(tests, func(a, b made) int { return strings.Compare(a.name, b.name) })
		t.Run(family, func(t *testing.T) {
			c := coverage{t: t}
			order := rand.New(rand.NewPCG(1, 0)).Perm(len(tests))
			for _, i := range order[:min(most, len(tests))] {
				c.add(tests[i].text())
			}
			t.Log(&c)
			sum.join(&c)
		})
	}
	t.Log(&sum)
	if total := sum.tests - sum.refused(); total < 600 {
		t.Errorf("only %d tests have run as kernels", total)
	}
}

// coverage counts what has run.
type coverage struct {
	t                *testing.T
	lenient          bool // of accesses that race at one location, one pair is enough: see the limits of package race
	tests, schedules int
	longest          int            // schedules of one test
	wrong            int            // tests
	reasons          map[string]int // tests that are no kernel
}

// add runs a test, if it can be a kernel.
func (c *coverage) add(text string) {
	test, err := Parse(text)
	if missing := new(Unsupported); errors.As(err, &missing) {
		c.refuse(missing.What)
		return
	}
	if err != nil {
		c.t.Fatal(err)
	}
	k, reason := compile(test)
	if reason != "" {
		c.refuse(reason)
		return
	}
	c.tests++
	x := &expected{map[string]map[[2]*Instruction]bool{}, map[string]map[[2]*Instruction]bool{}}
	r, err := explore(test, Options{}, x.add)
	if err != nil {
		c.t.Fatal(err)
	}
	s := shown{
		kernel: k, result: r, expected: x, lenient: c.lenient, states: map[string]bool{},
		races: map[[2]*Instruction]bool{},
	}
	complaint := s.run()
	c.schedules, c.longest = c.schedules+s.schedules, max(c.longest, s.schedules)
	if complaint != "" {
		if c.wrong++; c.wrong <= 3 {
			c.t.Errorf("%s\n%s%s\n%s", complaint, text, r, k.text.String())
		}
	}
}

func (c *coverage) refuse(reason string) {
	c.tests++
	if c.reasons == nil {
		c.reasons = map[string]int{}
	}
	c.reasons[reason]++
}

func (c *coverage) refused() (n int) {
	for _, of := range c.reasons {
		n += of
	}
	return n
}

func (c *coverage) join(o *coverage) {
	c.tests, c.schedules, c.wrong = c.tests+o.tests, c.schedules+o.schedules, c.wrong+o.wrong
	c.longest = max(c.longest, o.longest)
	for reason, n := range o.reasons {
		for range n {
			c.tests--
			c.refuse(reason)
		}
	}
}

func (c *coverage) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d tests ran as kernels, in %d schedules, at most %d of one; %d disagree",
		c.tests-c.refused(), c.tests, c.schedules, c.longest, c.wrong)
	for _, reason := range slices.Sorted(maps.Keys(c.reasons)) {
		fmt.Fprintf(&b, "\n%d are no kernel: %s", c.reasons[reason], reason)
	}
	return b.String()
}

// expected are the races of the sequentially consistent executions that end with the same registers: those of some of
// these executions, and those of all.
type expected struct {
	some, always map[string]map[[2]*Instruction]bool
}

func (e *expected) add(x *execution) {
	var registers [][]int64
	for _, t := range x.traces {
		registers = append(registers, t.registers)
	}
	key := fmt.Sprint(registers)
	if !x.sequential() {
		return
	}
	races := map[[2]*Instruction]bool{}
	for _, pair := range x.racing() {
		races[[2]*Instruction{x.events[pair[0]].in, x.events[pair[1]].in}] = true
	}
	if e.some[key] == nil {
		e.some[key], e.always[key] = map[[2]*Instruction]bool{}, maps.Clone(races)
	}
	maps.Copy(e.some[key], races)
	maps.DeleteFunc(e.always[key], func(p [2]*Instruction, _ bool) bool { return !races[p] })
}

// shown is what the schedules of a kernel have shown.
type shown struct {
	kernel    *kernel
	result    *Result
	expected  *expected
	state     State // of the last schedule
	states    map[string]bool
	races     map[[2]*Instruction]bool
	schedules int
	hung      bool // a schedule ended at a barrier
	lenient   bool
	complaint string
}

// run runs all schedules and says in which way they disagree with the model, if they do.
func (s *shown) run() string {
	const most = 1 << 14
	explored, err := check.Explore(check.Config{Ranks: len(s.kernel.warps)}, check.Exploration{
		Strategies: []check.Strategy{check.Exhaustive}, Weak: true, Schedules: most, Each: s.each,
	}, func(rank *check.Rank) error { return s.kernel.task(rank, &s.state) })
	if err != nil {
		return err.Error()
	}
	s.schedules = explored.Schedules
	switch {
	case s.complaint != "":
		return s.complaint
	case !explored.Complete:
		return fmt.Sprintf("%d schedules are not all", explored.Schedules)
	}
	if complaint := s.compareStates(); complaint != "" {
		return complaint
	}
	return s.compareRaces()
}

// each looks at what a schedule has shown.
func (s *shown) each(report *check.Report, err error) {
	if s.complaint == "" {
		s.complaint = s.judge(report, err)
	}
}

func (s *shown) judge(report *check.Report, err error) string {
	waits := func(f check.Finding) bool { return f.Kind == check.BarrierDivergence || f.Kind == check.Deadlock }
	switch {
	case slices.ContainsFunc(report.Findings, waits):
		s.hung = true
		return ""
	case err != nil:
		return err.Error()
	case len(report.Incomplete) > 0:
		return fmt.Sprintf("a schedule is incomplete: %q", report.Incomplete)
	}
	text := s.state.Describe(s.result.Test)
	if f := s.result.Test.Filter; f == nil || f.holds(&s.state) {
		s.states[text] = true
	}
	key, at := fmt.Sprint(s.state.Registers), map[int]bool{} // locations
	for _, f := range report.Findings {
		pair := s.kernel.pair(f)
		if pair[0] == nil || pair[1] == nil {
			return fmt.Sprintf("a race of what is no instruction of the test\n%s", f)
		}
		s.races[pair], at[pair[0].Location] = true, true
		if !s.expected.some[key][pair] && !s.fencesInOrder() {
			return fmt.Sprintf("a schedule ends in %s, which has not the race\n%s", text, f)
		}
	}
	for pair := range s.expected.always[key] {
		// The detector keeps the last write: a weaker read behind an own write hides a race with the one before.
		if !at[pair[0].Location] && !strings.HasPrefix(s.result.Test.Name, "CoWR") {
			return fmt.Sprintf("a schedule ends in %s and shows no race of the location of %q", text, pair[0].Text)
		}
	}
	return ""
}

// fencesInOrder reports whether the order of fences matters, which package race does not know: see TestFencesInOrder.
func (s *shown) fencesInOrder() bool { return strings.Contains(s.kernel.text.String(), "fence.sc") }
