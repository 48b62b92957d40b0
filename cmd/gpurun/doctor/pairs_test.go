package doctor

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/worker/result"
)

func TestPairsThatCouldNotBeChecked(t *testing.T) {
	for want, test := range map[string]struct {
		report result.Report
		status Status
	}{
		"pairs: the check of the links between GPUs failed: rank 1 was killed": {result.Report{Failure: "rank 1 was killed"}, Fail},
		"pairs: the links between GPUs cannot be checked: apart":               {result.Report{Apart: "apart"}, Warn},
	} {
		d := Examine(healthy().sources())
		d.AddPairs(test.report, 64)
		checkOnly(t, d, want, test.status)
	}
	d := Examine(healthy().sources())
	d.AddPairs(result.Report{}, 64)
	if d.Worst() != OK {
		t.Error("a GPU without peers is an ailment")
	}
}

func TestSlowRanks(t *testing.T) {
	half := func(ranks ...int) []result.Pair {
		r := pairs()
		for i, p := range r.Pairs {
			for _, rank := range ranks {
				if p.From == rank || p.To == rank {
					r.Pairs[i].CopyGBs /= 2
				}
			}
		}
		return r.Pairs
	}
	value := func(p result.Pair) float64 { return p.CopyGBs }
	for _, test := range []struct {
		name  string
		pairs []result.Pair
		ranks int
		want  []int
	}{
		{"all alike", pairs().Pairs, 4, nil},
		{"one", half(2), 4, []int{2}},
		{"two of two", half(0)[:1], 2, nil},
	} {
		var got []int
		for _, s := range slow(test.pairs, test.ranks, value) {
			got = append(got, s.rank)
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: %s", test.name, diff)
		}
	}
	// A tenth is not yet slow, however alike the others are.
	r := pairs()
	for i, p := range r.Pairs {
		r.Pairs[i].CopyGBs = 100
		if p.From == 3 || p.To == 3 {
			r.Pairs[i].CopyGBs = 90.5
		}
	}
	if found := slow(r.Pairs, 4, value); len(found) > 0 {
		t.Errorf("got %+v", found)
	}
}
