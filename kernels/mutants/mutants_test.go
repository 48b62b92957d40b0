package mutants

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"gpurun/cudart/sim/check/mutate"
)

var update = flag.Bool("update", false, "write docs/check-mutants.md; with GPURUN_MUTANTS=all")

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

// Every mutant is killed with the right cause, or explanations.json says why it is not. No explanation is stale.
func TestMutantsAreKilled(t *testing.T) {
	t.Parallel()
	explanations, err := readExplanations()
	if err != nil {
		t.Fatal(err)
	}
	results, pending := judged(t)
	for _, r := range explain(explanations, results) {
		t.Errorf("%s, %s of %s, %d ranks: %s\n%v\n%s", r.name, r.entry, r.module, r.world, r.verdict, r.Mutant, r.detail)
	}
	if !all() {
		return
	}
	for _, e := range explanations {
		if len(e.found) == 0 {
			t.Errorf("explanations.json: nothing is %s of class %q in %s, %s with line %s", e.Verdict, e.Class, e.Module,
				e.Entry, e.Text)
		}
	}
	if *update {
		at := filepath.Join("..", "..", "docs", "check-mutants.md")
		if err := os.WriteFile(at, []byte(page(results, explanations, pending)), 0o666); err != nil {
			t.Fatal(err)
		}
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
