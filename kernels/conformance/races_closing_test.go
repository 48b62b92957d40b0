package conformance

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"gpurun/cudart/sim/check"
	"gpurun/kernels/checktask"
	"gpurun/kernels/collective"
	"gpurun/kernels/ptx"
	"gpurun/kernels/reduce"
)

// The closing vectors of mailbox_pipeline.cuh keep the next launch from overwriting mailboxes that are not yet empty.
// Here the last tile of a launch has a single vector in each share, which warp 0 handles. Without closing vectors, a
// reducer can end the launch while warp 1 of the other reducer has not yet emptied the tile before. The first tile of
// the next launch overwrites that tile. The late warp takes the new vectors for the old ones, empties their mailboxes,
// and waits for ever in the next launch. With closing vectors, the same number of schedules has no finding.
func TestClosingVectorsKeepMailboxes(t *testing.T) {
	t.Parallel()
	const (
		root      = 2
		tileVecs  = 64                // of two warps
		shareVecs = tileVecs + 1      // a whole tile, and one of a single vector
		count     = 2 * shareVecs * 4 // floats of two reducers, four per vector
	)
	calls := checktask.Calls{
		Algorithm: inTiles(reduce.TwoShotLamport(), tileVecs*16), Shape: reduce.Collective().Shape, DType: collective.Float,
		Op: collective.Sum, Root: root, Counts: []int64{count}, Launches: 2, MaxBlocks: 1,
	}
	explore := func(calls checktask.Calls) *check.Explored {
		machine := check.Config{Ranks: 3, Processes: true, Steps: 1 << 18}
		found, err := check.Explore(machine, check.Exploration{Schedules: 64}, calls.Task)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	if with := explore(calls); !with.Clean() {
		t.Errorf("with closing vectors: error %v, %v, incomplete %q", with.Err, with.Findings, with.Incomplete)
	}
	text := withoutClosingVectors(t)
	calls.Source = func(string) ([]byte, error) { return text, nil }
	without := explore(calls)
	isOfMailboxes := func(f check.Found) bool {
		return f.Kind == check.Deadlock && strings.Contains(f.Where, "mailboxes")
	}
	if !slices.ContainsFunc(without.Findings, isOfMailboxes) {
		t.Errorf("without closing vectors, %d schedules have no deadlock at mailboxes: error %v, %v, incomplete %q",
			without.Schedules, without.Err, without.Findings, without.Incomplete)
	}
}

// withoutClosingVectors is the module of reduce twoshot_lamport whose kernel for any number of ranks sends no closing
// vectors and waits for none: the predicate `closes` of pipeline_mailboxes is false. Only thread 0 has that predicate,
// so it is the first conjunction with the comparison of the thread's number with 0.
func withoutClosingVectors(t *testing.T) []byte {
	t.Helper()
	const module, begin = "reduce_twoshot_lamport_float_sm_90", ".entry twoshot_lamport_any("
	text, err := ptx.Source(module)
	if err != nil {
		t.Fatal(err)
	}
	head, entry, found := strings.Cut(string(text), begin)
	isFirst := regexp.MustCompile(`mov\.u32 (%r\d+),%tid\.x;\s+setp\.eq\.b32 (%p\d+),%r\d+,0;`).FindStringSubmatch(entry)
	if !found || isFirst == nil {
		t.Fatalf("%s has no kernel %q that compares its thread's number with 0", module, begin)
	}
	closes := regexp.MustCompile(`and\.pred (%p\d+),` + isFirst[2] + `,%p\d+;`).FindStringSubmatchIndex(entry)
	if closes == nil {
		t.Fatalf("%s has no conjunction with %s", module, isFirst[2])
	}
	never := "mov.pred " + entry[closes[2]:closes[3]] + ",0;"
	return []byte(head + begin + entry[:closes[0]] + never + entry[closes[1]:])
}
