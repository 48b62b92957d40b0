package tuning

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// at makes samples of one size, each "algorithm, blocks, microseconds".
func at(bytes int64, samples ...any) []Sample {
	var all []Sample
	for i := 0; i < len(samples); i += 3 {
		all = append(all, Sample{"allreduce", 4, bytes, samples[i].(string), samples[i+1].(int), samples[i+2].(float64)})
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
			"neighbours that agree, in whatever order",
			[][]Sample{
				at(64<<10, "ll", 4, 9.0, "push", 4, 5.0), at(1<<10, "push", 1, 4.0, "ll", 1, 2.0),
				at(16<<10, "ll", 1, 3.0, "push", 1, 4.0), at(4<<10, "ll", 1, 2.0, "push", 1, 4.0),
			},
			[]Rule{plain("allreduce", 4, 32<<10, "ll", 1), plain("allreduce", 4, 0, "push", 4)},
		},
		{
			"an algorithm that wins by no more than 2%",
			[][]Sample{at(1<<10, "ll", 1, 2.0, "push", 1, 4.0), at(2<<10, "ll", 1, 2.04, "push", 1, 2.0), at(4<<10, "ll", 1, 2.05, "push", 1, 2.0)},
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
		{"reduce", 2, 8, "p2p", 1, 2},
		{"allreduce", 4, 8, "twoshot", 1, 2},
		{"allreduce", 2, 8, "oneshot", 1, 2},
	})
	want := []Rule{plain("allreduce", 2, 0, "oneshot", 1), plain("allreduce", 4, 0, "twoshot", 1), plain("reduce", 2, 0, "p2p", 1)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// TestRulesAreNearlyBest checks, for any samples, that rules are a valid table
// whose choice for a size that was measured is at most 2% slower than the best.
func TestRulesAreNearlyBest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		sizes := rapid.SliceOfNDistinct(rapid.Int64Range(1, 1<<40), 1, 6, rapid.ID).Draw(t, "sizes")
		times := map[Sample]float64{}
		var samples []Sample
		for _, bytes := range sizes {
			for _, algorithm := range []string{"oneshot", "twoshot"} {
				for blocks := 1; blocks <= 4; blocks *= 2 {
					s := Sample{Collective: "allreduce", World: 4, Bytes: bytes, Algorithm: algorithm, Blocks: blocks}
					times[s] = rapid.Float64Range(1, 2).Draw(t, "us")
					s.Micros = times[s]
					samples = append(samples, s)
				}
			}
		}
		table := Table{GPU: "X", Compute: "9.0", Rules: Rules(samples)}
		for i := range table.Rules {
			if err := table.checkRule(i, catalog()); err != nil {
				t.Fatal(err)
			}
		}
		for _, s := range samples {
			got, _ := Tables{table}.Choose(Query{Collective: "allreduce", World: 4, Bytes: s.Bytes, Able: func(string) bool { return true }})
			chosen := times[Sample{"allreduce", 4, s.Bytes, got.Algorithm, got.Blocks, 0}]
			if chosen > s.Micros*margin {
				t.Fatalf("%d bytes: %s with %d blocks takes %v, %s with %d %v",
					s.Bytes, got.Algorithm, got.Blocks, chosen, s.Algorithm, s.Blocks, s.Micros)
			}
		}
	})
}

func TestFormat(t *testing.T) {
	samples := slices.Concat(at(1<<10, "oneshot", 1, 4.256, "oneshot_ll", 1, 2.5), at(64<<10, "twoshot", 8, 9.0))
	want := Table{GPU: "NVIDIA H200", Compute: "9.0", Driver: "580.159.04", Measured: "2026-11-21", DType: "bfloat16", Rules: Rules(samples)}
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
	} {
		if !strings.Contains(string(text), line) {
			t.Errorf("no %q in\n%s", line, text)
		}
	}
}
