package check

import (
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gpurun/cudart"
)

// threads is a kernel in which each rank runs a piece of code of its own, with words x and y that all share.
func threads(codes ...string) string {
	var text strings.Builder
	text.WriteString(`
.version 8.0
.target sm_80
.address_size 64
.visible .entry threads(.param .u64 words, .param .u32 rank)
{
	.reg .b64 %x, %y;
	.reg .b32 %rank, %a, %b, %i;
	.reg .pred %p;
	ld.param.u64 %x, [words];
	add.u64 %y, %x, 128;
	ld.param.u32 %rank, [rank];
`)
	for i := range codes {
		fmt.Fprintf(&text, "\tsetp.eq.u32 %%p, %%rank, %d;\n\t@%%p bra rank%d;\n", i, i)
	}
	for i, code := range codes {
		fmt.Fprintf(&text, "\tret;\nrank%d:\n", i)
		for line := range strings.SplitSeq(code, ";") {
			if line = strings.TrimSpace(line); line != "" {
				fmt.Fprintf(&text, "\t%s;\n", line)
			}
		}
	}
	return text.String() + "\tret;\n}\n"
}

// exhaust explores all schedules of a kernel made by threads.
func exhaust(t *testing.T, e Exploration, codes ...string) *Explored {
	t.Helper()
	e.Strategies = []Strategy{Exhaustive}
	if e.Schedules == 0 {
		e.Schedules = 1000
	}
	return explore(t, e, codes...)
}

// explore explores schedules of a kernel made by threads.
func explore(t *testing.T, e Exploration, codes ...string) *Explored {
	t.Helper()
	all, err := Explore(Config{Ranks: len(codes)}, e, runThreads(codes...))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// runThreads is the task of ranks that run a kernel made by threads.
func runThreads(codes ...string) func(*Rank) error {
	text := threads(codes...)
	return func(r *Rank) error {
		words, err := r.Device.Malloc(256)
		if err != nil {
			return err
		}
		all, err := r.Share(words)
		if err != nil {
			return err
		}
		m, err := r.Device.LoadModule("threads.ptx", []byte(text))
		if err != nil {
			return err
		}
		k, err := m.Kernel("threads")
		if err != nil {
			return err
		}
		s, err := r.Device.NewStream()
		if err != nil {
			return err
		}
		params := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint64(nil, uint64(all[0])), uint32(r.Number))
		if err := s.Launch(k, cudart.Launch{Blocks: 1, Threads: 1}, params); err != nil {
			return err
		}
		return s.Synchronize(context.Background())
	}
}

const (
	storeX = "st.relaxed.sys.global.u32 [%x], 1;"
	storeY = "st.release.sys.global.u32 [%y], 1;"
	loadX  = "ld.relaxed.sys.global.u32 %a, [%x];"
	loadY  = "ld.acquire.sys.global.u32 %b, [%y];"
	awaitY = "again: ld.acquire.sys.global.u32 %b, [%y]; setp.eq.u32 %p, %b, 0; @%p bra again;"
	awaitX = "againx: ld.acquire.sys.global.u32 %b, [%x]; setp.eq.u32 %p, %b, 0; @%p bra againx;"
)

// Each order of accesses to the same words is visited once: the numbers are those of interleavings by hand.
func TestExhaustiveVisitsEachOrderOnce(t *testing.T) {
	for name, test := range map[string]struct {
		codes []string
		want  int
	}{
		"one rank":           {[]string{storeX + loadX + storeX}, 1},
		"message passing":    {[]string{storeX + storeY, loadY + loadX}, 3},
		"store buffering":    {[]string{storeX + loadY, storeY + loadX}, 3},
		"load buffering":     {[]string{loadX + storeY, loadY + storeX}, 3},
		"two stores":         {[]string{storeX, storeX}, 2},
		"three stores":       {[]string{storeX, storeX, storeX}, 6},
		"two loads":          {[]string{loadX, loadX, loadX}, 1},
		"independent stores": {[]string{storeX + storeX, storeY + storeY}, 1},
		"independent reads of independent writes": {[]string{storeX, storeY, loadX + loadY, loadY + loadX}, 15},
		"a store and loads":                       {[]string{storeX, loadX + loadX + loadX}, 4},
		"a poll":                                  {[]string{storeX + storeY, awaitY + loadX}, 1},
		"a poll between":                          {[]string{storeX + storeY, awaitY + storeX, awaitX + loadX}, 3},
		"polls of one another":                    {[]string{storeX + awaitY, awaitX + storeY}, 1},
		"a barrier of flags":                      {[]string{storeX + awaitY + loadX, storeY + awaitX + loadY}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			e := exhaust(t, Exploration{}, test.codes...)
			if !e.Complete || e.Schedules != test.want || e.Behaviors != test.want || !e.Clean() {
				t.Errorf("%d schedules and %d behaviors, complete %t, want %d: %v %q %v", e.Schedules, e.Behaviors, e.Complete,
					test.want, e.Findings, e.Incomplete, e.Err)
			}
		})
	}
}

// For random code, the numbers are those of all interleavings, counted one by one.
func TestExhaustiveAgainstInterleavings(t *testing.T) {
	operations := []string{storeX, storeY, loadX, loadY, "atom.add.relaxed.sys.global.u32 %a, [%x], 1;"}
	random := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		var codes []string
		var program [][]int
		for range 2 + random.IntN(2) {
			var code string
			var ops []int
			for range 1 + random.IntN(3) {
				op := random.IntN(len(operations))
				code, ops = code+operations[op], append(ops, op)
			}
			codes, program = append(codes, code), append(program, ops)
		}
		want := map[string]bool{}
		interleave(program, make([]int, len(program)), nil, want)
		e := exhaust(t, Exploration{Schedules: 5000}, codes...)
		if !e.Complete || e.Schedules != len(want) || e.Behaviors != len(want) {
			t.Errorf("%q: %d schedules and %d behaviors, complete %t, want %d", codes, e.Schedules, e.Behaviors, e.Complete,
				len(want))
		}
	}
}

// interleave collects the orders of conflicting operations, over all interleavings.
func interleave(program [][]int, at []int, done [][2]int, all map[string]bool) {
	ended := true
	for rank, ops := range program {
		if at[rank] == len(ops) {
			continue
		}
		ended = false
		at[rank]++
		interleave(program, at, append(slices.Clip(done), [2]int{rank, at[rank] - 1}), all)
		at[rank]--
	}
	if !ended {
		return
	}
	onX := func(op int) bool { return op != 1 && op != 3 }
	writes := func(op int) bool { return op != 2 && op != 3 }
	var order []string
	for i, a := range done {
		for _, b := range done[:i] {
			opA, opB := program[a[0]][a[1]], program[b[0]][b[1]]
			if a[0] != b[0] && onX(opA) == onX(opB) && (writes(opA) || writes(opB)) {
				order = append(order, fmt.Sprint(b, a))
			}
		}
	}
	slices.Sort(order)
	all[fmt.Sprint(order)] = true
}
