package workload

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Sizes that lead to the same call are one group. Algorithms that cannot run in place are not in
// groups of in-place calls.
func TestSideBySide(t *testing.T) {
	job := small()
	job.Algorithms, job.DTypes = []string{"multimem_oneshot", "naive"}, []string{"half", "float"}
	job.Sizes = []int64{1 << 10, 1<<10 + 1, 2 << 10}
	var got []string
	for _, group := range planned(t, job, simulated(2)).SideBySide() {
		line := group[0].String() + ":"
		for _, c := range group {
			line += " " + c.Algorithm.Name
		}
		got = append(got, line)
	}
	var want []string
	for _, dtype := range []string{"half", "float"} {
		want = append(want,
			"allreduce multimem_oneshot "+dtype+" sum, 1024 bytes out of place: multimem_oneshot naive",
			"allreduce multimem_oneshot "+dtype+" sum, 2048 bytes out of place: multimem_oneshot naive",
			"allreduce naive "+dtype+" sum, 1024 bytes in place: naive",
			"allreduce naive "+dtype+" sum, 2048 bytes in place: naive")
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
