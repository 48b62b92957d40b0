package litmus

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"gpurun/cudart"
	"gpurun/cudart/sim/check"
)

// What the race checker shows of a test's kernel is what the model allows: every final state is one of the model's,
// and the detector finds the model's races of sequentially consistent executions, and no other.
func TestCheckerAgrees(t *testing.T) {
	most, seeds := 40, uint64(24) // tests of a family, schedules of a test
	if os.Getenv("GPURUN_LITMUS_ALL") != "" {
		most, seeds = 1<<20, 64
	}
	all := families()
	checkers := map[int]*check.Checker{}
	for _, family := range slices.Sorted(maps.Keys(all)) {
		t.Run(family, func(t *testing.T) {
			tests := all[family]
			slices.SortFunc(tests, func(a, b made) int { return strings.Compare(a.name, b.name) })
			ran, wrong := 0, 0
			order := rand.New(rand.NewPCG(1, 0)).Perm(len(tests))
			for _, i := range order[:min(most, len(tests))] {
				test, err := Parse(tests[i].text())
				if err != nil {
					t.Fatal(err)
				}
				k, ok := compile(test)
				x := &expected{map[string]map[[2]*Instruction]bool{}, map[string]map[[2]*Instruction]bool{}}
				r, err := explore(test, Options{}, x.add)
				if err != nil {
					t.Fatal(err)
				}
				if !ok || r.Deadlock {
					continue
				}
				ran++
				if complaint := k.compare(checkers, r, x, seeds); complaint != "" {
					if wrong++; wrong <= 3 {
						t.Errorf("%s\n%s%s", complaint, tests[i].text(), r)
					}
				}
			}
			t.Logf("%d tests ran of %d, %d disagree", ran, len(tests), wrong)
		})
	}
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

// compare runs a kernel under several seeds and says in which way it disagrees with the model, if it does.
func (k *kernel) compare(checkers map[int]*check.Checker, r *Result, x *expected, seeds uint64) string {
	ranks := len(k.warps)
	if checkers[ranks] == nil {
		c, err := check.New(check.Config{Ranks: ranks})
		if err != nil {
			return err.Error()
		}
		checkers[ranks] = c
	}
	allowed := map[string]bool{}
	for i := range r.States {
		allowed[r.States[i].Describe(r.Test)] = true
	}
	found := map[[2]*Instruction]bool{}
	for seed := range seeds {
		var state State
		report, err := checkers[ranks].Run(seed, func(rank *check.Rank) error { return k.task(rank, &state) })
		if err != nil {
			return fmt.Sprintf("seed %d: %v\n%s", seed, err, k.text.String())
		}
		if len(report.Incomplete) > 0 {
			return fmt.Sprintf("seed %d is incomplete: %q", seed, report.Incomplete)
		}
		if text := state.Describe(r.Test); !allowed[text] {
			return fmt.Sprintf("seed %d ends in %s, which the model does not allow", seed, text)
		}
		key, shown := fmt.Sprint(state.Registers), map[int]bool{} // locations
		for _, f := range report.Findings {
			pair := k.pair(f)
			if pair[0] == nil || pair[1] == nil {
				return fmt.Sprintf("seed %d has a race of what is no instruction of the test\n%s", seed, f)
			}
			found[pair], shown[pair[0].Location] = true, true
			if !x.some[key][pair] && !strings.Contains(k.text.String(), "fence.sc") {
				return fmt.Sprintf("seed %d ends in %s, which has not the race\n%s", seed, state.Describe(r.Test), f)
			}
		}
		for pair := range x.always[key] {
			// The detector keeps the last write: a weaker read behind an own write hides a race with the one before.
			if !shown[pair[0].Location] && !strings.HasPrefix(r.Test.Name, "CoWR") {
				return fmt.Sprintf("seed %d ends in %s and shows no race of the location of %q", seed,
					state.Describe(r.Test), pair[0].Text)
			}
		}
	}
	return compareRaces(r, found)
}

// pair is the instructions of a finding in the order of the test's threads.
func (k *kernel) pair(f check.Finding) [2]*Instruction {
	var p [2]*Instruction
	var at [2]int
	for i := range p {
		if _, err := fmt.Sscanf(f.Sides[i].Source, "litmus.cu:%d", &at[i]); err == nil && at[i] <= len(k.lines) {
			p[i] = k.lines[at[i]-1]
		}
	}
	if at[0] > at[1] {
		p[0], p[1] = p[1], p[0]
	}
	return p
}

// compareRaces compares those of the detector with those of the model.
func compareRaces(r *Result, found map[[2]*Instruction]bool) string {
	for _, race := range r.Races {
		pair := [2]*Instruction{race.First, race.Second}
		switch {
		case race.Sequential && !found[pair]:
			return fmt.Sprintf("the detector misses the race of %q and %q", race.First.Text, race.Second.Text)
		case !race.Sequential && found[pair]:
			return fmt.Sprintf("the detector finds a race of %q and %q, which no interleaving has", race.First.Text,
				race.Second.Text)
		}
		delete(found, pair)
	}
	for pair := range found {
		return fmt.Sprintf("the detector finds a race of %q and %q, which the model has not", pair[0].Text, pair[1].Text)
	}
	return ""
}

// task is the host code of a rank. Rank 0 has the memory, and reads the final state.
func (k *kernel) task(r *check.Rank, state *State) error {
	var memory cudart.DevicePtr
	size := int64(resultsAt + len(k.homes)*threadBytes)
	s, err := r.Device.NewStream()
	if err != nil {
		return err
	}
	if r.Number == 0 {
		if memory, err = r.Device.Malloc(size); err != nil {
			return err
		}
		initial := make([]byte, size)
		for i, l := range k.test.Locations {
			binary.LittleEndian.PutUint32(initial[wordBytes*i:], uint32(l.Initial))
		}
		if err := s.Upload(memory, initial); err != nil {
			return err
		}
		if err := s.Synchronize(context.Background()); err != nil {
			return err
		}
	}
	all, err := r.Share(memory)
	if err != nil {
		return err
	}
	m, err := r.Device.LoadModule("litmus.ptx", []byte(k.text.String()))
	if err != nil {
		return err
	}
	f, err := m.Kernel("litmus")
	if err != nil {
		return err
	}
	params := binary.LittleEndian.AppendUint64(nil, uint64(all[0]))
	params = binary.LittleEndian.AppendUint32(params, uint32(r.Number))
	shape := cudart.Launch{Blocks: max(1, len(k.blocks[r.Number])), Threads: 32 * max(1, k.warps[r.Number])}
	if err := s.Launch(f, shape, params); err != nil {
		return err
	}
	if err := s.Synchronize(context.Background()); err != nil {
		return err
	}
	if err := r.Meet(); err != nil || r.Number != 0 {
		return err
	}
	final := make([]byte, size)
	if err := s.Download(final, memory); err != nil {
		return err
	}
	if err := s.Synchronize(context.Background()); err != nil {
		return err
	}
	k.read(final, state)
	return nil
}

// read reads the final state out of memory.
func (k *kernel) read(final []byte, s *State) {
	word := func(at int) int64 { return int64(int32(binary.LittleEndian.Uint32(final[at:]))) }
	*s = State{}
	for i, t := range k.test.Threads {
		var all []int64
		for j := range t.Registers {
			all = append(all, word(resultsAt+i*threadBytes+4*j))
		}
		s.Registers = append(s.Registers, all)
	}
	for i := range k.test.Locations {
		s.Memory = append(s.Memory, word(wordBytes*i))
	}
}
