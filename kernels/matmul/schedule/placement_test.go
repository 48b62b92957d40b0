package schedule

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/kernels/ptx/ptxtest"
)

// clustersOnH200 is the pair of multiprocessors of each cluster of a grid on an H200, as measured, and the GPC of each
// pair, as far as clusters of up to 16 blocks show it: four GPCs have two multiprocessors each.
func clustersOnH200() (pairs []uint32, gpcOfPair []int) {
	for _, least := range []int{0, 1} { // they are dealt out in turn; GPC 0 has four pairs, unless 8 to 11 are on it, too
		for range 4 {
			for gpc := least; gpc < 8; gpc++ {
				gpcOfPair = append(gpcOfPair, gpc)
			}
		}
	}
	gpcOfPair = append(gpcOfPair, 6, 7, 8, 9, 10, 11)
	for i := range uint32(len(gpcOfPair)) {
		pairs = append(pairs, (i+62)%66)
	}
	return pairs, gpcOfPair
}

// Clusters of one GPC begin with tiles of one row, for the GPCs of an H200.
func TestPlacementOnH200(t *testing.T) {
	pairs, gpcOfPair := clustersOnH200()
	multiprocessors := map[int][]uint32{}
	var clusters [][]uint32
	for pair, gpc := range gpcOfPair {
		multiprocessors[gpc] = append(multiprocessors[gpc], 2*uint32(pair), 2*uint32(pair)+1)
	}
	for _, pair := range pairs {
		clusters = append(clusters, []uint32{2 * pair, 2*pair + 1})
	}
	var larger [][]uint32
	for _, size := range []int{4, 6, 8} {
		for _, on := range multiprocessors {
			larger = slices.AppendSeq(larger, slices.Chunk(on[:len(on)/size*size], size))
		}
	}
	want := Placement{
		39, 47, 55, 63,
		7, 2, 3, 4, 5, 6, 0, 1, 15, 10, 11, 12, 13, 14, 8, 9, 23, 18, 19, 20, 21, 22, 16, 17, 31, 26, 27, 28, 29, 30, 24, 25,
		34, 35, 36, 37, 38, 32, 33, 42, 43, 44, 45, 46, 40, 41, 50, 51, 52, 53, 54, 48, 49, 58, 59, 60, 61, 62, 56, 57, 64,
		65,
	}
	if diff := cmp.Diff(want, ByGPC(GroupByGPC(clusters, larger), len(clusters))); diff != "" {
		t.Errorf("the tiles of clusters (-want +got)\n%s", diff)
	}
}

// Whatever GPCs there are, clusters take all tiles of their first wave, those of each of the larger GPCs in a row of
// tiles as far as that goes.
func TestByGPC(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 1000 {
		clusters := 1 + r.IntN(MostClusters)
		var gpcs [][]int
		for i, cluster := range r.Perm(clusters) {
			if i == 0 || r.IntN(8) == 0 {
				gpcs = append(gpcs, nil)
			}
			gpcs[len(gpcs)-1] = append(gpcs[len(gpcs)-1], cluster)
		}
		p := ByGPC(gpcs, clusters)
		sorted := slices.Sorted(slices.Values(p))
		if !slices.Equal(sorted, InOrder()[:clusters]) {
			t.Fatalf("%v are placed as %v", gpcs, p)
		}
		for i, gpc := range gpcs[:min(len(gpcs), rowsInGroup)] { // ByGPC has sorted them
			for j, cluster := range gpc {
				if want := i + j*rowsInGroup; want < clusters && int(p[cluster]) != want {
					t.Fatalf("%v are placed as %v: cluster %d at %d, not %d", gpcs, p, cluster, p[cluster], want)
				}
			}
		}
	}
}

// The kernels take as many rows of tiles before the next column.
func TestRowsInGroup(t *testing.T) {
	if diff := cmp.Diff([]uintptr{rowsInGroup}, ptxtest.Numbers(t, "matmul_layout", "tiles_in_group")); diff != "" {
		t.Errorf("rows of tiles (-Go +kernel)\n%s", diff)
	}
}
