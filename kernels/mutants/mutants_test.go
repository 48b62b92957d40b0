package mutants

import (
	"errors"
	"flag"
	"os"
	"slices"
	"testing"

	"gpurun/cudart/sim/check/mutate"
)

var update = flag.Bool("update", false, "write results.json and docs/check-mutants.md; with GPURUN_MUTANTS")

const pagePath = "../../docs/check-mutants.md"

// classes are those of the table, in its order.
var classes = []mutate.Class{
	mutate.WaitSkipped, mutate.PeerMissed, mutate.PacketSkipped, mutate.PacketMissed, mutate.WrongPeer,
	mutate.FirstWord, mutate.BarrierRemoved, mutate.WarpSyncRemoved, mutate.ClusterRemoved, mutate.FlagFirst,
	mutate.ReleaseRelaxed, mutate.ReleaseWeak,
	mutate.AcquireRelaxed, mutate.AcquireWeak, mutate.RelaxedWeak, mutate.ScopeGPU, mutate.ScopeBlock,
	mutate.FenceRemoved, mutate.ProxyRemoved, mutate.EpochStuck, mutate.EpochDoubled, mutate.ParityConstant,
	mutate.ResetSkipped, mutate.LaneDropped, mutate.PacketTorn, mutate.DependencyLost, mutate.BulkWaitRead,
	mutate.AsyncWaitRemoved, mutate.AsyncWaitLate, mutate.PhaseFlipped, mutate.MatrixWait,
}

// Every mutant that is run is killed with the right cause, or explanations.json says why it is not.
func TestMutantsAreKilled(t *testing.T) {
	t.Parallel()
	explanations, err := readExplanations()
	if err != nil {
		t.Fatal(err)
	}
	list, err := subjects()
	if err != nil {
		t.Fatal(err)
	}
	some, err := chosen()
	if err != nil {
		t.Fatal(err)
	}
	tried := list
	if some == nil {
		tried = notPending(t, list)
	}
	results, judged := judged(t, tried, some)
	var now []*record
	for _, s := range judged {
		now = append(now, recordOf(s, results))
	}
	for _, r := range thoroughly(t, explanations, explain(explanations, results)) {
		t.Errorf("%s, %s of %s, %d ranks: %s\n%v\n%s", r.name, r.entry, r.module, r.world, r.verdict, r.Mutant, r.detail)
	}
	if *update && some != nil {
		write(t, list, now)
	}
}

// notPending are the subjects without those whose record says that they are not judged. The page names these.
func notPending(t *testing.T, list []*subject) []*subject {
	t.Helper()
	records, err := readRecords()
	if err != nil {
		t.Fatal(err)
	}
	return slices.DeleteFunc(slices.Clone(list), func(s *subject) bool {
		return slices.ContainsFunc(records, func(k *record) bool { return k.Kernel == s.row() && k.Pending != "" })
	})
}

// thoroughly judges those without an explanation again, under as many schedules as for the table. It returns those that
// still have none.
func thoroughly(t *testing.T, explanations []*explanation, list []result) (unexplained []result) {
	t.Helper()
	for _, r := range list {
		if r.thorough {
			unexplained = append(unexplained, r)
			continue
		}
		r.thorough = true
		again, err := r.judge(r.Mutant)
		if err != nil {
			t.Fatal(err)
		}
		unexplained = append(unexplained, explain(explanations, []result{again})...)
	}
	return unexplained
}

// write writes the records, of which some are new, and the page.
func write(t *testing.T, list []*subject, now []*record) {
	t.Helper()
	old, err := readRecords()
	if err != nil {
		t.Fatal(err)
	}
	records, missing := merged(list, old, now)
	if err := errors.Join(writeRecords(records), missing); err != nil {
		t.Fatal(err)
	}
	text, _ := pageOf(t, list, records)
	if err := os.WriteFile(pagePath, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

// pageOf is the page, and the explanations with what they explain.
func pageOf(t *testing.T, list []*subject, records []*record) (string, []*explanation) {
	t.Helper()
	explanations, err := readExplanations()
	if err != nil {
		t.Fatal(err)
	}
	var results []result
	for i, k := range records {
		results = append(results, k.results(list[i])...)
	}
	for _, r := range explain(explanations, results) {
		t.Errorf("%s: no explanation of %s: %v", r.row(), r.verdict, r.Mutant)
	}
	return page(results, explanations, records), explanations
}

// The page says what the records and the explanations say, of all kernels. No explanation is stale.
func TestPageIsOfRecords(t *testing.T) {
	t.Parallel()
	list, err := subjects()
	if err != nil {
		t.Fatal(err)
	}
	old, err := readRecords()
	if err != nil {
		t.Fatal(err)
	}
	records, err := merged(list, old, nil)
	if err != nil {
		t.Fatal(err)
	}
	text, explanations := pageOf(t, list, records)
	for _, e := range explanations {
		if len(e.found) == 0 {
			t.Errorf("explanations.json: nothing is %s of class %q in %s, %s with line %s", e.Verdict, e.Class, e.Module,
				e.Entry, e.Text)
		}
	}
	got, err := os.ReadFile(pagePath)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != text {
		t.Errorf("%s is not of %s and explanations.json: write it again with GPURUN_MUTANTS=none and -update", pagePath,
			recordsPath)
	}
}

// The classes of the table are all that there are, and each has mutants.
func TestEveryClassHasMutants(t *testing.T) {
	t.Parallel()
	list, err := subjects()
	if err != nil {
		t.Fatal(err)
	}
	counts := map[mutate.Class]int{}
	for _, s := range list {
		mutants, err := mutate.All(s.module, s.text, s.entry)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range mutants {
			counts[m.Class]++
		}
	}
	for _, c := range classes {
		if counts[c] == 0 {
			t.Errorf("%s: no mutants", c)
		}
		delete(counts, c)
	}
	if len(counts) > 0 {
		t.Errorf("not in the table: %v", counts)
	}
}
