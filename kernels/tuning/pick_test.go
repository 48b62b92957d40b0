package tuning

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"gpurun/kernels/collective"
)

// at makes samples of one size, each "algorithm, blocks, microseconds".
func at(bytes int64, samples ...any) []Sample {
	var all []Sample
	for i := 0; i < len(samples); i += 3 {
		all = append(all, Sample{
			Collective: "allreduce", World: 4, Bytes: bytes,
			Algorithm: samples[i].(string), Blocks: samples[i+1].(int), Micros: samples[i+2].(float64),
		})
	}
	return all
}

func TestRules(t *testing.T) {
	for _, c := range []struct {
		name    string
		samples [][]Sample
		want    []Rule
	}{
		{"nothing", nil, nil},
		{"one size", [][]Sample{at(1<<10, "ll", 1, 3.0, "push", 1, 2.0)}, []Rule{plain("allreduce", 4, 0, "push", 1)}},
		{
			"neighbors that agree, in whatever order",
			[][]Sample{
				at(64<<10, "ll", 4, 9.0, "push", 4, 5.0), at(1<<10, "push", 1, 4.0, "ll", 1, 2.0),
				at(16<<10, "ll", 1, 3.0, "push", 1, 4.0), at(4<<10, "ll", 1, 2.0, "push", 1, 4.0),
			},
			[]Rule{plain("allreduce", 4, 32<<10, "ll", 1), plain("allreduce", 4, 0, "push", 4)},
		},
		{
			"an algorithm that wins by no more than 2%",
			[][]Sample{
				at(1<<10, "ll", 1, 2.0, "push", 1, 4.0), at(2<<10, "ll", 1, 2.04, "push", 1, 2.0),
				at(4<<10, "ll", 1, 2.05, "push", 1, 2.0),
			},
			[]Rule{plain("allreduce", 4, 2<<10, "ll", 1), plain("allreduce", 4, 0, "push", 1)},
		},
		{
			"as few blocks as will do",
			[][]Sample{at(1<<20, "push", 16, 12.0, "push", 32, 10.1, "push", 64, 10.0, "push", 128, 10.05)},
			[]Rule{plain("allreduce", 4, 0, "push", 32)},
		},
		{
			"more blocks for larger sizes",
			[][]Sample{at(1<<20, "push", 8, 9.0, "push", 16, 10.0), at(16<<20, "push", 8, 99.0, "push", 16, 90.0)},
			[]Rule{plain("allreduce", 4, 4<<20, "push", 8), plain("allreduce", 4, 0, "push", 16)},
		},
		{
			"sizes that double",
			[][]Sample{at(1<<20, "a", 1, 1.0, "b", 1, 2.0), at(2<<20, "a", 1, 2.0, "b", 1, 1.0)},
			[]Rule{plain("allreduce", 4, 1<<20, "a", 1), plain("allreduce", 4, 0, "b", 1)},
		},
		{"no data at all", [][]Sample{at(0, "flag", 0, 2.0)}, []Rule{plain("allreduce", 4, 0, "flag", 0)}},
	} {
		if diff := cmp.Diff(c.want, Rules(slices.Concat(c.samples...))); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestRulesOfSeveralSweeps(t *testing.T) {
	got := Rules([]Sample{
		{Collective: "reduce", World: 2, Bytes: 8, Algorithm: "p2p", Blocks: 1, Micros: 2},
		{Collective: "allreduce", World: 4, Bytes: 8, Algorithm: "twoshot", Blocks: 1, Micros: 2},
		{Collective: "allreduce", World: 2, Bytes: 8, Algorithm: "oneshot", Blocks: 1, Micros: 2},
	})
	want := []Rule{
		plain("allreduce", 2, 0, "oneshot", 1), plain("allreduce", 4, 0, "twoshot", 1), plain("reduce", 2, 0, "p2p", 1),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// normed makes samples of calls that normalize rows of a length.
func normed(hidden int64, samples ...[]Sample) []Sample {
	all := slices.Concat(samples...)
	for i := range all {
		all[i].Epilogue, all[i].Hidden = collective.RMSNorm, hidden
	}
	return all
}

// TestRulesByRow checks that a length of rows has rules of its own only for sizes at which the rules
// of the first length are too slow.
func TestRulesByRow(t *testing.T) {
	norm := func(hidden int64, upTo Size, algorithm string, blocks int) Rule {
		r := plain("allreduce", 4, upTo, algorithm, blocks)
		r.Epilogue, r.Hidden = collective.RMSNorm, hidden
		return r
	}
	first := normed(4096,
		at(64<<10, "ll", 1, 2.0, "push", 8, 4.0), at(128<<10, "ll", 1, 4.0, "push", 8, 3.0),
		at(256<<10, "ll", 1, 8.0, "push", 8, 4.0))
	anyLength := []Rule{norm(0, 64<<10, "ll", 1), norm(0, 0, "push", 8)}
	for _, c := range []struct {
		name   string
		second []Sample
		want   []Rule
	}{
		{"the same", normed(8192, at(64<<10, "ll", 1, 3.0, "push", 8, 6.0), at(256<<10, "ll", 1, 9.0, "push", 8, 6.0)), nil},
		{
			"no more than 2%, and more blocks",
			normed(8192, at(64<<10, "ll", 1, 3.0), at(256<<10, "ll", 1, 5.9, "push", 8, 6.0, "push", 4, 6.0)), nil,
		},
		{
			"ahead in between",
			normed(8192, at(64<<10, "ll", 1, 3.0, "push", 8, 6.0), at(128<<10, "ll", 1, 4.0, "push", 8, 5.0),
				at(256<<10, "ll", 1, 9.0, "push", 8, 6.0)),
			[]Rule{norm(8192, 128<<10, "ll", 1)},
		},
		{
			"another grid for the smallest",
			normed(2048, at(64<<10, "ll", 1, 3.0, "ll", 2, 2.0), at(1<<20, "push", 8, 6.0)),
			[]Rule{norm(2048, 256<<10, "ll", 2)},
		},
		{
			"behind at the largest", // what comes before is repeated
			normed(2048, at(64<<10, "ll", 1, 3.0), at(128<<10, "push", 8, 5.0), at(1<<20, "push", 8, 6.0, "push", 32, 5.0)),
			[]Rule{norm(2048, 64<<10, "ll", 1), norm(2048, 256<<10, "push", 8), norm(2048, 0, "push", 32)},
		},
		{
			"not able to", // too long for packets
			normed(16384, at(64<<10, "push", 8, 6.0), at(128<<10, "push", 8, 6.0)),
			[]Rule{norm(16384, 64<<10, "push", 8)},
		},
	} {
		if diff := cmp.Diff(slices.Concat(anyLength, c.want), Rules(slices.Concat(first, c.second))); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
	long := normed(8192, at(64<<10, "push", 8, 3.0))
	if diff := cmp.Diff([]Rule{norm(0, 0, "push", 8), norm(4096, 64<<10, "ll", 1)},
		Rules(slices.Concat(long, first))); diff != "" {
		t.Errorf("the first is the longest: %s", diff)
	}
}

// TestRulesAreNearlyBest checks, for any samples, that rules are a valid table
// whose choice for a size that was measured is at most 2% slower than the best.
func TestRulesAreNearlyBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		times := map[Sample]float64{}
		var samples []Sample
		for _, hidden := range []int64{0, 8192, 4096, 512} {
			for _, bytes := range rapid.SliceOfNDistinct(rapid.Int64Range(1, 1<<40), 1, 6, rapid.ID).Draw(t, "sizes") {
				for _, s := range candidates(hidden, bytes) {
					times[s] = rapid.Float64Range(1, 2).Draw(t, "us")
					s.Micros = times[s]
					samples = append(samples, s)
				}
			}
		}
		table := Table{GPU: "X", Compute: "9.0", DType: "bfloat16", Rules: Rules(samples)}
		for i := range table.Rules {
			if err := table.checkRule(i, catalog()); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range samples {
			got, _ := Tables{table}.Choose(Query{
				Collective: "allreduce", World: 4, Epilogue: s.Epilogue, Hidden: s.Hidden, Bytes: s.Bytes,
				Able: func(string) bool { return true },
			})
			chosen := s
			chosen.Algorithm, chosen.Blocks, chosen.Micros = got.Algorithm, got.Blocks, 0
			if us, ok := times[chosen]; !ok || us > s.Micros*margin {
				t.Fatalf("%+v takes %v, %+v %v", chosen, times[chosen], s, s.Micros)
			}
		}
	})
}

// candidates returns a sample of each algorithm and grid for a call; hidden 0: without an epilogue.
func candidates(hidden, bytes int64) []Sample {
	var all []Sample
	for _, algorithm := range []string{"oneshot", "twoshot"} {
		for blocks := 1; blocks <= 4; blocks *= 2 {
			s := Sample{Collective: "allreduce", World: 4, Hidden: hidden, Bytes: bytes, Algorithm: algorithm, Blocks: blocks}
			if hidden > 0 {
				s.Epilogue = collective.RMSNorm
			}
			all = append(all, s)
		}
	}
	return all
}

func TestFormat(t *testing.T) {
	samples := slices.Concat(
		at(1<<10, "oneshot", 1, 4.256, "oneshot_ll", 1, 2.5), at(64<<10, "twoshot", 8, 9.0),
		normed(4096, at(64<<10, "oneshot", 4, 5.0)),
		normed(8192, at(64<<10, "oneshot_ll", 4, 6.0, "oneshot", 4, 7.0), at(1<<20, "oneshot", 4, 20.0)),
	)
	want := Table{
		GPU: "NVIDIA H200", Compute: "9.0", Driver: "580.159.04", Measured: "2026-11-21", DType: "bfloat16",
		Rules: Rules(samples),
	}
	text, err := Format(want, samples)
	if err != nil {
		t.Fatal(err)
	}
	got, err := Parse("x", text)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	for _, line := range []string{
		"\n# allreduce 4 1K: oneshot_ll/1 2.50 oneshot/1 4.26\n", "\n# allreduce 4 64K: twoshot/8 9.00\n",
		"\n# allreduce with rmsnorm of 8192 4 64K: oneshot_ll/4 6.00 oneshot/4 7.00\n",
		"\nhidden = 8192\nup_to = '256K'\nalgorithm = 'oneshot_ll'\n",
	} {
		if !strings.Contains(string(text), line) {
			t.Errorf("no %q in\n%s", line, text)
		}
	}
}
