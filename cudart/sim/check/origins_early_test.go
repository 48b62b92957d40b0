package check

import (
	"math/rand/v2"
	"testing"
)

// Of each warp the last load is kept, however many warps load the word.
func TestEarlyLoads(t *testing.T) {
	var warps [3 * manyLoads]doer
	early, want := &earlyLoads{}, map[*doer]*misread{}
	random := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		by := &warps[random.IntN(len(warps))]
		early.forget(by)
		if before := want[by]; before != nil && !before.again {
			t.Fatal("a load that was repeated does not say so")
		}
		delete(want, by)
		if random.IntN(3) > 0 {
			want[by] = &misread{reading: &reading{by: by}}
			early.add(want[by])
		}
		if len(early.all()) != len(want) {
			t.Fatalf("%d loads, want %d", len(early.all()), len(want))
		}
		for _, m := range early.all() {
			if m.again || want[m.by] != m {
				t.Fatalf("a load is kept that was repeated")
			}
		}
	}
}
