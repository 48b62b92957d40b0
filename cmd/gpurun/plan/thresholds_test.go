package plan

import (
	"strings"
	"testing"

	"gpurun/kernels"
	"gpurun/kernels/collective"
	"gpurun/kernels/libraries"
	"gpurun/kernels/tuning"
)

// TestProfilesAreAboutWhatRuns checks that what auto takes for the sizes of smoke
// is what the thresholds are for.
func TestProfilesAreAboutWhatRuns(t *testing.T) {
	profiles, err := builtInProfiles()
	if err != nil {
		t.Fatal(err)
	}
	tables, err := builtInTuning()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range profiles {
		for _, r := range p.Rules {
			if r.Algorithm == libraries.NCCLName {
				continue // which auto never takes, and who names it gets judged
			}
			q := tuning.Query{GPU: p.GPUs[0], SM: 90, Collective: r.Collective, World: r.World, Bytes: 64 << 20}
			if strings.Contains(q.GPU, "A100") {
				q.SM = 80
			}
			q.Able = func(algorithm string) bool { return runsWithoutMulticast(t, q, algorithm) }
			if r.Most < q.Bytes {
				q.Bytes = 1 << 10
			}
			if got := chosenBy(tables, q); got != r.Algorithm {
				t.Errorf("%s, %d ranks: %s is about another algorithm than %s", p.Name, r.World, r, got)
			}
		}
	}
}

// chosenBy is what auto takes: by the tables, or else by the collective's estimate.
func chosenBy(tables tuning.Tables, q tuning.Query) string {
	if got, ok := tables.Choose(q); ok {
		return got.Algorithm
	}
	c, _ := kernels.Find(q.Collective)
	d := collective.BFloat16
	call := collective.Call{Count: q.Bytes / c.Shape.Recv.Of(q.World) / int64(d.Size), DType: d, Op: collective.Sum}
	return c.Choose(q.World, call)
}

// runsWithoutMulticast reports whether an algorithm has kernels for the model.
func runsWithoutMulticast(t *testing.T, q tuning.Query, algorithm string) bool {
	t.Helper()
	c, _ := kernels.Find(q.Collective)
	a, ok := c.Algorithm(algorithm)
	if !ok {
		t.Fatalf("%s has no algorithm %s", q.Collective, algorithm)
	}
	op := collective.None
	if c.Shape.Reduces {
		op = collective.Sum
	}
	_, runs := a.Find(collective.BFloat16, op, collective.NoEpilogue, q.World, q.SM)
	return runs && !a.Needs.Multicast
}
