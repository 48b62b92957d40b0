package check

import (
	"encoding/binary"
	"fmt"
	"testing"

	"gpurun/cudart"
)

// A result that depends on the order of atomic operations is told with two seeds; a sum is the same in all schedules,
// and what differs between ranks alone is no finding.
func TestResultsThatDependOnTheSchedule(t *testing.T) {
	for update, want := range map[string]int{"exch.b32": 1, "add.u32": 0} {
		atomic := "atom.relaxed.gpu.global." + update + " %v, [%mine], %w;\n"
		p := program{body: onlyOne + "add.u32 %w, %block, 1;\n" + atomic + "end:\n"}
		p.ranks, p.threads, p.blocks = 1, 32, ones(2)
		c, err := New(Config{Ranks: 1})
		if err != nil {
			t.Fatal(err)
		}
		task := func(r *Rank) error {
			if err := p.rank(r); err != nil {
				return err
			}
			s, err := r.Device.NewStream()
			if err != nil {
				return err
			}
			out := make([]byte, 4)
			err = s.Download(out, cudart.DevicePtr(r.run.memory.names[0].begin))
			r.Result("output", out)
			return err
		}
		var reports []*Report
		for seed := range uint64(16) {
			r, err := c.Run(seed, task)
			if err != nil || !r.Clean() || len(r.Results) != 1 {
				t.Fatalf("seed %d: error %v, %v, results %v", seed, err, r.Findings, r.Results)
			}
			reports = append(reports, r)
		}
		e, err := Explore(Config{Ranks: 1}, Exploration{Schedules: 16}, task)
		if err != nil || len(e.Findings) != want {
			t.Errorf("%s: an exploration finds %v, %v, want %d", update, e.Findings, err, want)
		}
		found := CompareResults(reports)
		if len(found) != want {
			t.Errorf("%s: findings %v, want %d", update, found, want)
		}
		for _, f := range found {
			if f.Kind != ScheduleDependent || f.Count != 1 || len(f.Sides) != 2 {
				t.Errorf("the finding is %+v", f)
			}
		}
	}
}

// Reports with mistakes or gaps are left out of the comparison.
func TestResultsOfRacesAreNotCompared(t *testing.T) {
	report := func(value uint32, findings ...Finding) *Report {
		data := binary.LittleEndian.AppendUint32(nil, value)
		r := Rank{run: &run{checker: &Checker{}}}
		r.Result("output", []byte("an earlier one"))
		r.Result("output", data)
		return &Report{Findings: findings, Results: r.run.sortedResults()}
	}
	incomplete := report(3)
	incomplete.Incomplete = []string{"something"}
	for i, c := range []struct {
		reports []*Report
		want    int
	}{
		{[]*Report{report(1), report(1)}, 0},
		{[]*Report{report(1), report(2)}, 1},
		{[]*Report{report(1), report(2, Finding{Kind: Race})}, 0},
		{[]*Report{report(1), report(2, Finding{Kind: WrongResult})}, 0},
		{[]*Report{report(1), report(2, Finding{Kind: Race, Note: true})}, 1},
		{[]*Report{report(1), incomplete}, 0},
	} {
		if found := CompareResults(c.reports); len(found) != c.want {
			t.Errorf("%d: %s", i, fmt.Sprint(found))
		}
	}
}
