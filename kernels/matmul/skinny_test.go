package matmul

import (
	"fmt"
	"math/bits"
	"strings"
	"testing"
)

// divided is a kernel of skinny.cu.
type divided interface {
	grid(p Problem, sms int) skinnyGrid
	most() int64 // rows of A
}

func (rows skinny) most() int64 { return int64(rows) }
func (rows tall) most() int64   { return int64(rows) }

func everyDivided() (all []divided) {
	for _, rows := range skinnyHeights() {
		all = append(all, rows)
	}
	for _, rows := range tallHeights() {
		all = append(all, rows)
	}
	return all
}

// How the layers of models in kernels/NOTES.md are divided on an H100, and problems with few or many columns.
func TestSkinnyGrid(t *testing.T) {
	const full, half = wgmmaMostShared, skinnyHalfShared
	for _, c := range []struct {
		rows                   divided
		n, k                   int64
		blocks, cluster, waves int
		shared                 int
	}{
		{skinny(16), 2752, 4096, 86, 2, 1, half},
		{skinny(16), 3584, 8192, 112, 2, 1, half},
		{skinny(16), 8192, 3584, 128, 1, 1, half},
		{skinny(32), 1024, 8192, 64, 4, 1, half}, // 16 clusters of 8 do not fit
		{skinny(32), 512, 8192, 64, 8, 1, half},
		{skinny(16), 10240, 8192, 256, 1, 2, half}, // tiles of 40 columns, two on a multiprocessor
		{skinny(64), 6656, 16384, 120, 4, 1, full}, // tiles of 56 columns
		{skinny(64), 5120, 5120, 128, 1, 1, full},  // of 40
		{skinny(64), 4096, 4096, 128, 2, 1, full},  // nor do they here
		{tall(128), 3584, 8192, 128, 2, 1, full},   // of 56
		{tall(128), 5120, 5120, 128, 2, 1, full},   // of 80
		{tall(128), 8192, 3584, 128, 1, 1, full},
		{tall(128), 10240, 8192, 128, 1, 1, full}, // of 80
		{tall(128), 28672, 8192, 256, 1, 2, half}, // of 112, two on a multiprocessor
		{tall(128), 64, 512, 8, 1, 1, full},       // of 8
		{tall(192), 3584, 8192, 128, 2, 1, full},  // of 56
		{tall(192), 4096, 4096, 128, 2, 1, full},  // of 64
		{tall(192), 2752, 4096, 116, 4, 1, full},  // of 96
		{tall(192), 2048, 8192, 116, 4, 1, full},  // of 72
		{tall(192), 6656, 16384, 128, 2, 1, full}, // of 104
		{tall(192), 10240, 8192, 128, 1, 1, full}, // of 80
		{tall(192), 28672, 8192, 256, 1, 2, full}, // of 112, one after the other
		{skinny(16), 8, 8, 1, 1, 1, half},
		{skinny(112), 8192, 3584, 128, 1, 1, full},
		{skinny(112), 10240, 8192, 256, 1, 2, half}, // of 40, two on a multiprocessor
		{skinny(160), 3584, 8192, 112, 2, 1, full},
		{skinny(192), 10240, 8192, 256, 1, 2, full}, // of 40, one after the other
	} {
		p := Problem{M: c.rows.most(), N: c.n, K: c.k, DType: DTypes()[0]}
		g := c.rows.grid(p, 132)
		l := g.launch()
		if l.Blocks != c.blocks || l.Cluster != c.cluster || (l.Blocks+131)/132 != c.waves {
			t.Errorf("%s: %d blocks in clusters of %d, not %d of %d", p, l.Blocks, l.Cluster, c.blocks, c.cluster)
		}
		if stage := int(g.stageBytes()) + skinnyBarriers; l.SharedBytes > c.shared || l.SharedBytes+stage <= c.shared {
			t.Errorf("%s: %d stages do not fill %d bytes of shared memory", p, g.stages, c.shared)
		}
		checkSkinnyGrid(t, p, g, 132)
		if err := l.CheckShape(); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
}

// The problems of kernels/conformance are divided in all ways that there are.
func TestSkinnyGridsOfConformance(t *testing.T) {
	for _, c := range []struct {
		rows                     divided
		n, k                     int64
		sms                      int
		columns, splits, sharers int64
	}{
		{skinny(16), 328, 456, 2, 48, 1, 1},
		{skinny(16), 136, 64*31 + 8, 132, 64, 8, 1},
		{skinny(32), 264, 64 * 40, 18, 64, 2, 1},
		{skinny(32), 72, 64 * 33, 9, 64, 4, 1},
		{skinny(64), 264, 64 * 40, 18, 64, 2, 4},
		{skinny(64), 400, 200, 4, 56, 1, 1},
		{tall(128), 400, 200, 4, 104, 1, 1},
		{tall(128), 520, 440, 20, 32, 1, 1},
		{tall(128), 304, 64 * 3, 4, 80, 1, 1},
		{tall(128), 376, 64 * 3, 4, 96, 1, 1},
		{tall(128), 1000, 200, 4, 128, 1, 1},
		{tall(128), 200, 64*33 + 8, 18, 24, 2, 1},
		{tall(128), 136, 64 * 72, 40, 16, 4, 1},
		{tall(128), 24, 64 * 256, 24, 16, 8, 1},
		{tall(192), 520, 64*20 - 8, 2, 88, 1, 1},
		{tall(192), 8, 64 * 28, 2, 8, 2, 1},
		{skinny(112), 200, 64 * 40, 4, 56, 1, 1},
		{skinny(112), 24, 64 * 256, 24, 64, 8, 1},
		{skinny(128), 520, 440, 20, 64, 1, 1},
		{skinny(128), 64, 64 * 20, 2, 64, 2, 1},
		{skinny(160), 64, 64*30 - 8, 8, 64, 4, 1},
		{skinny(192), 128, 64 * 32, 4, 64, 2, 1},
		{skinny(192), 16, 64 * 128, 32, 64, 8, 1},
		{tall(128), 200, 64*23 + 8, 10, 40, 2, 1},
		{tall(128), 16, 64 * 128, 32, 8, 4, 1},
		{tall(192), 16, 64 * 128, 32, 8, 8, 1},
		// of races
		{skinny(16), 72, 64 * 24, 2, 40, 1, 1},
		{skinny(16), 8, 64*31 + 8, 9, 64, 8, 1},
		{skinny(32), 72, 64 * 16, 9, 64, 4, 1},
		{skinny(112), 40, 64 * 24, 4, 64, 2, 1},
		{skinny(128), 200, 64*23 + 8, 10, 64, 2, 1},
		{tall(128), 8, 64 * 20, 2, 8, 2, 1},
		{skinny(160), 8, 64 * 28, 2, 64, 2, 1},
		{tall(192), 8, 64 * 24, 6, 8, 2, 1},
		{tall(192), 8, 64 * 40, 9, 8, 4, 1},
	} {
		p := Problem{M: c.rows.most(), N: c.n, K: c.k, DType: DTypes()[0]}
		if g := c.rows.grid(p, c.sms); g.columns != c.columns || g.splits != c.splits || g.sharers != c.sharers {
			t.Errorf("%s on %d multiprocessors: %+v, want %d columns, %d parts and %d blocks that share A", p, c.sms, g,
				c.columns, c.splits, c.sharers)
		}
	}
}

// On a device of any size, a cluster finds room if each block has a multiprocessor of its own, the tiles cover C, there
// are stages for a pipeline, and the rows of C that are staged in their place and the sums of other parts have room.
func TestSkinnyClustersFindRoom(t *testing.T) {
	depths := []int64{8, 520, 1024, 4096, 8192, 16384, 22784, 32768, 49152, 60000, 81920}
	columns := []int64{8, 24, 136, 1000, 8192, 16448, 200000}
	for n := int64(200); n < 5100; n += 152 {
		columns = append(columns, n)
	}
	for _, rows := range everyDivided() {
		for _, sms := range []int{1, 2, 3, 4, 5, 7, 8, 9, 16, 18, 32, 78, 114, 120, 132} {
			for _, n := range columns {
				for _, k := range depths {
					p := Problem{M: rows.most(), N: n, K: k, DType: DTypes()[0]}
					checkSkinnyGrid(t, p, rows.grid(p, sms), sms)
				}
			}
		}
	}
}

// checkSkinnyGrid reports a grid that clusters, stages or sums have no room for. A has as many rows as the kernel.
func checkSkinnyGrid(t *testing.T, p Problem, g skinnyGrid, sms int) {
	t.Helper()
	if g.splits*g.sharers > g.slots(sms) || g.tiles*g.sharers*g.columns < p.N || g.stages < 3 {
		t.Errorf("%s on %d multiprocessors: %+v", p, sms, g)
	}
	// A group is 16 columns of the multiplication by a warpgroup; staged, its rows lie 144 or 48 bytes apart.
	groups, staged := tiles(tiles(p.M, 16), g.splits), int64(16*144)
	if g.isTall {
		groups, staged = tiles(g.rows/64*tiles(g.columns, 16), g.splits), 64*48
	}
	stages, sums := g.stages*g.stageBytes(), (g.splits-1)*groups*16*64*4
	if groups*staged > stages || int64(g.launch().SharedBytes) < stages+16*(g.stages+1)+sums {
		t.Errorf("%s on %d multiprocessors: %+v has no room for %d bytes of sums and %d of rows", p, sms, g, sums,
			groups*staged)
	}
}

// An A of up to 64 rows is multiplied by the first kernel of skinny.cu that has room for it, if rows of C are aligned.
// One of up to 128 rows is multiplied by such a kernel, and one of up to 192 where that is faster.
func TestSkinnyIsChosen(t *testing.T) {
	for _, sms := range []int{132, 78} {
		for _, m := range []int64{1, 16, 17, 32, 33, 64, 65, 128, 129, 192, 193} {
			for _, n := range []int64{8, 72, 1000, 4096, 8192, 28672, 128256, 90} {
				for _, k := range []int64{8, 256, 4096, 16384} {
					p := Problem{M: m, N: n, K: k, DType: DTypes()[0]}
					want := "matmul_wgmma_"
					switch fast := m <= 128 || m <= 192 && k >= 4096; {
					case n%8 > 0 || !fast:
					case m > 64:
						want = "matmul_skinny_"
					default:
						want = fmt.Sprintf("matmul_skinny_%d_", 16<<bits.Len64(uint64(m-1)/16))
					}
					if got := chosenModule(t, p, sms); !strings.HasPrefix(got, want) {
						t.Errorf("%s on %d multiprocessors: %s, not %s", p, sms, got, want)
					}
				}
			}
		}
	}
}

// The kernel that was faster on an H200 by 2% or more is chosen: kernels/NOTES.md.
func TestFasterSkinnyIsChosen(t *testing.T) {
	for _, c := range []struct {
		m, n, k int64
		want    string
	}{
		{72, 8192, 3584, "112"},
		{100, 4096, 4096, "112"},
		{112, 1024, 8192, "112"},
		{72, 6656, 16384, "tall_128"},
		{100, 10240, 8192, "tall_128"},
		{128, 8192, 3584, "128"},
		{128, 4096, 4096, "128"},
		{128, 28672, 8192, "tall_128"},
		{136, 8192, 3584, "160"},
		{160, 3584, 8192, "160"},
		{160, 4096, 4096, "160"},
		{136, 6656, 16384, "160"},
		{136, 10240, 8192, "tall_192"},
		{136, 28672, 8192, "tall_192"},
		{192, 8192, 3584, "192"},
		{176, 3584, 8192, "192"},
		{192, 4096, 4096, "192"},
		{192, 2752, 4096, "tall_192"},
		{192, 5120, 5120, "tall_192"},
		{192, 10240, 8192, "tall_192"},
	} {
		p := Problem{M: c.m, N: c.n, K: c.k, DType: DTypes()[0]}
		if got, want := chosenModule(t, p, 132), "matmul_skinny_"+c.want+"_"; !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s, not %s", p, got, want)
		}
	}
}

func chosenModule(t *testing.T, p Problem, sms int) string {
	t.Helper()
	g, _, err := choose(GEMMs(), ofProduct, product{rows: p.M}.sharded(Call{Problem: p}), GPU{SM: 90, SMs: sms})
	if err != nil {
		t.Fatal(err)
	}
	return g.Kernels[0].Module.Name
}
