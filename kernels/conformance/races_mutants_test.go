package conformance

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"gpurun/cudart/sim/check"
	"gpurun/cudart/sim/check/race"
	"gpurun/kernels/allreduce"
	"gpurun/kernels/ptx"
)

// A barrier of the one-shot allreduce that is removed or weakened is found with both lines, the store to the scratch
// and a peer's load from it, though the results are right.
func TestWeakenedBarriersOfOneShotAreFound(t *testing.T) {
	t.Parallel()
	const (
		blockBarrier   = `bar\.red\.and\.pred (%p\d+),0,(%p\d+);`
		store, acquire = `st\.release\.sys\.global`, `ld\.acquire\.sys\.global`
		nothing, scope = race.NoOrder, race.NarrowScope
	)
	for _, m := range []struct {
		pattern     string
		occurrence  int // in the kernel
		replacement string
		cause       race.Cause
	}{
		{blockBarrier, 0, "mov.pred $1,$2;", nothing}, // before the flag
		{blockBarrier, 1, "mov.pred $1,$2;", nothing}, // behind it
		{store, 0, "st.relaxed.sys.global", nothing},
		{store, 0, "st.volatile.global", nothing},
		{store, 0, "st.global", nothing},
		{store, 0, "st.release.gpu.global", scope},
		{store, 0, "st.release.cta.global", scope},
		{acquire, 0, "ld.relaxed.sys.global", nothing},
		{acquire, 0, "ld.volatile.global", nothing},
		{acquire, 0, "ld.global", nothing},
		{acquire, 0, "ld.acquire.gpu.global", scope},
		{acquire, 0, "ld.acquire.cta.global", scope},
	} {
		t.Run(fmt.Sprint(m.replacement, m.occurrence), func(t *testing.T) {
			text := mutant(t, m.pattern, m.occurrence, m.replacement)
			c := checkedCalls(allreduce.OneShot(), 1500)
			c.Source = func(string) ([]byte, error) { return []byte(text), nil }
			checker := newChecker(t, 2)
			for seed := range uint64(3) {
				r, err := checker.Run(seed, c.Task)
				if err != nil {
					t.Errorf("seed %d: %v", seed, err)
				}
				if !findsStaging(r, strings.Split(text, "\n"), m.cause) || len(r.Incomplete) > 0 {
					t.Errorf("seed %d finds %v, incomplete %q", seed, r.Findings, r.Incomplete)
				}
			}
		})
	}
}

// mutant is the text of the module with one change in the kernel for two ranks.
func mutant(t *testing.T, pattern string, occurrence int, replacement string) string {
	t.Helper()
	const module, begin = "allreduce_oneshot_float_sm_90", ".entry oneshot_sum_n2("
	text, err := ptx.Source(module)
	if err != nil {
		t.Fatal(err)
	}
	head, entry, _ := strings.Cut(string(text), begin)
	re := regexp.MustCompile(pattern)
	places := re.FindAllStringSubmatchIndex(entry, occurrence+1)
	if len(places) <= occurrence {
		t.Fatalf("oneshot_sum_n2 of %s has no %s", module, pattern)
	}
	at := places[occurrence]
	changed := re.ExpandString([]byte(entry[:at[0]]), replacement, entry, at)
	return head + begin + string(changed) + entry[at[1]:]
}

// findsStaging reports whether there is a finding with a cause, of a rank's store to its scratch and a peer's load,
// which names the lines of both.
func findsStaging(r *check.Report, lines []string, cause race.Cause) bool {
	names := func(a check.Access, opcode string) bool {
		return strings.HasPrefix(a.Text, opcode) && strings.Contains(lines[a.Line-1], a.Text)
	}
	for _, f := range r.Findings {
		first, second := f.Sides[0], f.Sides[1]
		if f.Cause == cause.String() && first.Rank != second.Rank && names(first, "st.global.v4") &&
			names(second, "ld.global.v4") && strings.Contains(f.Where, fmt.Sprintf("rank %d's scratch", first.Rank)) {
			return true
		}
	}
	return false
}
