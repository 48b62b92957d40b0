package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"gpurun/cudart/sim"
	"gpurun/kernels"
	"gpurun/kernels/collective"
	"gpurun/kernels/reference"
)

// epilogueRows are lengths of rows: the shortest ones, one that is no multiple of
// a warp's vectors, and those of models.
var epilogueRows = []int64{8, 64, 1000, 4096, 8192}

// epilogueCalls is a sum by every algorithm with an epilogue, with each of its epilogues and types.
func epilogueCalls(t testing.TB, world int) []testCall {
	t.Helper()
	var all []testCall
	for _, c := range gridCalls(t, world, "allreduce") {
		for _, kind := range collective.EpilogueKinds() {
			for _, c.in.DType = range collective.EpilogueDTypes() {
				if c.algorithm.Supports(c.in.DType, c.in.Op, kind) {
					all = append(all, c.withEpilogue(kind, 0))
				}
			}
		}
	}
	return all
}

func epilogueName(c testCall) string {
	return fmt.Sprintf("%d_ranks/%s/%s/%s", c.in.World, c.epilogue.Kind, c.algorithm.Name, c.in.DType.Name)
}

// Every epilogue of every algorithm and type is right, with rows of all lengths, with fewer rows than ranks and more,
// in place and out of place: the results, the residual output, and the guards.
func TestEpilogueGrid(t *testing.T) {
	parallelInSimulator(t)
	for _, world := range sample([]int{1, 2, 3, 4, 8}, 0, 2) {
		pool := newRankPool(t, gridGroup(t, world))
		for number, c := range epilogueCalls(t, world) {
			if !onGPU(t) && world > 3 && !inShard(number) {
				continue // of 8 ranks, the work is 64 times that of one
			}
			t.Run(epilogueName(c), func(t *testing.T) {
				for i, c := range epilogueSizes(t, c, inShard(number)) {
					c.in.Seed, c.in.Pattern, c.inPlace = uint64(i), reference.Pattern(i%2), i/2%2 == 1
					pool.run(t, runCall(c))
				}
			})
		}
	}
}

// epilogueSizes is the call on 1 to 7 rows of each length that the algorithm supports. In the simulator, for the longer
// rows and unless all are wanted, it is on 1, 3 or 7 rows. Unless the run is exhaustive there are fewer lengths, and 1
// or 7 rows.
func epilogueSizes(t testing.TB, c testCall, wanted bool) []testCall {
	t.Helper()
	const short, most = 64, 3 * 4096
	var all []testCall
	for _, row := range sample(epilogueRows, 1, 2, 4) {
		for rows := int64(1); rows <= 7; rows++ {
			few := !onGPU(t) && (row > short || !wanted)
			if few && (rows*row > most || !slices.Contains(sample([]int64{1, 3, 7}, 0, 2), rows)) {
				continue
			}
			next := c.withEpilogue(c.epilogue.Kind, row)
			next.count = rows * row
			if rowFits(next) {
				all = append(all, next)
			}
		}
	}
	return all
}

// rowFits reports whether the algorithm supports rows of that length. TestEpilogueRefusals has the others.
func rowFits(c testCall) bool {
	a := c.algorithm
	return c.epilogue.Kind != collective.RMSNorm || a.MaxRow == nil ||
		c.epilogue.Row*int64(c.in.DType.Size) <= a.MaxRow(c.in.World)
}

// Elementwise epilogues support any count and alignment.
func TestEpilogueGridUnaligned(t *testing.T) {
	parallelInSimulator(t)
	for _, world := range sample([]int{2, 3}, 1) {
		pool := newRankPool(t, gridGroup(t, world))
		for _, c := range epilogueCalls(t, world) {
			if c.epilogue.Kind == collective.RMSNorm {
				continue
			}
			t.Run(epilogueName(c), func(t *testing.T) {
				for i, count := range sample([]int64{0, 1, 7, 63, 65, 1003}, 0, 2, 5) {
					c := c.withEpilogue(c.epilogue.Kind, 64)
					c.count, c.in.Seed, c.in.Pattern = count, uint64(i), reference.Pattern(i%2)
					c.offset, c.shift = int64(c.in.DType.Size*(i%3)), int64(c.in.DType.Size*(i%2))
					pool.run(t, runCall(c))
				}
			})
		}
	}
}

// A captured call with an epilogue can be replayed, with other inputs, weights and residuals each time.
func TestEpilogueGridReplayed(t *testing.T) {
	parallelInSimulator(t)
	const world, row = 3, 1000
	pool := newRankPool(t, gridGroup(t, world))
	for _, c := range epilogueCalls(t, world) {
		t.Run(epilogueName(c), func(t *testing.T) {
			c := c.withEpilogue(c.epilogue.Kind, row)
			c.count, c.in.Pattern = 5*row, reference.Random
			pool.run(t, func(m *member) error { return c.replay(m, 3) })
		})
	}
}

// Epilogues do not depend on more than the memory model promises.
func TestEpiloguesInDisorder(t *testing.T) {
	parallelInSimulator(t)
	const row = 64
	for seed := range uint64(3) {
		world := 2 + int(seed)
		pool := newRankPool(t, group{world: world, backend: sim.New(1, sim.Options{Seed: seed + 1})})
		for _, c := range epilogueCalls(t, world) {
			t.Run(fmt.Sprintf("seed_%d/%s", seed+1, epilogueName(c)), func(t *testing.T) {
				c := c.withEpilogue(c.epilogue.Kind, row)
				c.count, c.in.Seed = 5*row, seed
				pool.run(t, runCall(c))
			})
		}
	}
}

// Calls that an epilogue does not support are refused, with the reason.
func TestEpilogueRefusals(t *testing.T) {
	norm := func(change func(c *collective.Call)) collective.Call {
		c := collective.Call{Count: 4096, DType: collective.BFloat16, Op: collective.Sum}
		c.Epilogue = collective.Epilogue{Kind: collective.RMSNorm, Row: 1024}
		change(&c)
		return c
	}
	for _, tt := range []struct {
		name, algorithm, want string
		world                 int // 4 if it is 0
		call                  collective.Call
	}{
		{name: "nothing", algorithm: "twoshot", call: norm(func(*collective.Call) {})},
		{
			name: "unaligned input", algorithm: "twoshot", want: "aligned to 16 bytes",
			call: norm(func(c *collective.Call) { c.Send = 8 }),
		},
		{
			name: "unaligned output", algorithm: "oneshot", want: "aligned to 16 bytes",
			call: norm(func(c *collective.Call) { c.Recv = 2 }),
		},
		{
			name: "longest row", algorithm: "twoshot",
			call: norm(func(c *collective.Call) { c.Count, c.Epilogue.Row = 16384, 16384 }),
		},
		{
			name: "row too long", algorithm: "twoshot", want: "32784 bytes is longer than 32768",
			call: norm(func(c *collective.Call) { c.Count, c.Epilogue.Row = 16392, 16392 }),
		},
		{
			name: "row too long for packets", algorithm: "oneshot_ll",
			want: "up to 16384 bytes among 4 ranks, not 32768; twoshot takes",
			call: norm(func(c *collective.Call) { c.Count, c.Epilogue.Row = 16384, 16384 }),
		},
		{
			name: "row too long for packets of 8", algorithm: "oneshot_ll", want: "up to 8192 bytes among 8 ranks, not 16384",
			world: 8,
			call:  norm(func(c *collective.Call) { c.Count, c.Epilogue.Row = 8192, 8192 }),
		},
		{
			name: "row of half a vector", algorithm: "oneshot", want: "row of 1004 elements is not a multiple of 16",
			call: norm(func(c *collective.Call) { c.Epilogue.Row = 1004 }),
		},
		{
			name: "no row", algorithm: "oneshot", want: "row of 0 elements",
			call: norm(func(c *collective.Call) { c.Epilogue.Row = 0 }),
		},
		{
			name: "bias without a row", algorithm: "oneshot", want: "epilogue bias: a row of 0 elements",
			call: norm(func(c *collective.Call) { c.Epilogue = collective.Epilogue{Kind: collective.Bias} }),
		},
		{
			name: "half a row", algorithm: "twoshot", want: "4608 elements are no whole number of rows of 1024",
			call: norm(func(c *collective.Call) { c.Count += 512 }),
		},
		{
			name: "of 8-bit floats", algorithm: "twoshot", want: "no epilogue rmsnorm for sum of f8e4m3",
			call: norm(func(c *collective.Call) { c.DType = collective.F8E4M3 }),
		},
		{
			name: "of doubles", algorithm: "oneshot", want: "no epilogue rmsnorm for sum of double",
			call: norm(func(c *collective.Call) { c.DType = collective.Double }),
		},
		{
			name: "of integers", algorithm: "oneshot_ll", want: "no epilogue rmsnorm for sum of int32",
			call: norm(func(c *collective.Call) { c.DType = collective.Int32 }),
		},
		{
			name: "of a product", algorithm: "twoshot", want: "no epilogue rmsnorm for prod of bfloat16",
			call: norm(func(c *collective.Call) { c.Op = collective.Prod }),
		},
		{
			name: "of an average", algorithm: "twoshot", want: "no epilogue rmsnorm for avg of bfloat16",
			call: norm(func(c *collective.Call) { c.Op = collective.Avg }),
		},
		{name: "naive", algorithm: "naive", want: "it has none at all", call: norm(func(*collective.Call) {})},
		{name: "multimem", algorithm: "multimem_twoshot", want: "it has none at all", call: norm(func(*collective.Call) {})},
	} {
		t.Run(tt.name, func(t *testing.T) {
			allreduce, _ := kernels.Find("allreduce")
			a, ok := allreduce.Algorithm(tt.algorithm)
			if !ok {
				t.Fatalf("allreduce has no %s", tt.algorithm)
			}
			world := tt.world
			if world == 0 {
				world = 4
			}
			err := a.Check(tt.call, world)
			if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Errorf("want %q, got %v", tt.want, err)
			}
		})
	}
}
