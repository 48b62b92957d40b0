package matmul

import (
	"fmt"
	"sync"

	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// GEMM multiplies local matrices: the M x K of [Params].A by that of B, into C.
type GEMM struct {
	Name    string
	Kernels []collective.Kernel
	// Gathered, Scattered and Everywhere are the kernels with that exchange (cuda/exchange.cuh), if there are any.
	Gathered, Scattered, Everywhere []collective.Kernel
	// Parts is the number of parts in which a rank gets rows x n of products that it adds up, TileParts that of a tile, or
	// of the tiles that are multiplied together, and PartBytes the size of one.
	Parts                func(rows, n int64) int64
	TileParts, PartBytes int64
	// Cost is the time on so many multiprocessors, in a unit that GEMMs of the same name share; nil: there is only one of
	// the name.
	Cost func(w shardedProblem, sms int) int64
	// Shape is the launch on a device with so many multiprocessors, with PDL where the kernel allows it.
	Shape func(w shardedProblem, sms int) cudart.Launch
	// Tiles is the number of tiles, in so many shards of rows, whose times the kernel notes; nil: none. See
	// Algorithm.Tiles.
	Tiles func(p Problem, shards int) int64
	// Complete fills in parameters that only this kernel reads; nil: there are none.
	Complete func(r *Runner, p *Params, w shardedProblem) error
	// CopiesLocalShard: the kernels of Gathered copy the local shard into the gathered matrix.
	CopiesLocalShard bool
	// BLAS: a library multiplies; all fields above but Name are empty.
	BLAS bool
}

// GEMMs lists all GEMMs, the preferred one first; of those of the same name the one with the least Cost is taken. Callers do
// not change the list.
func GEMMs() []*GEMM { return gemms() }

// gemms is GEMMs made once: calls that are enqueued choose from it.
var gemms = sync.OnceValue(func() []*GEMM {
	var all []*GEMM
	for _, columns := range wgmmaWidths() {
		all = append(all, columns.gemm())
	}
	return append(all, mmaGEMM(), naiveGEMM())
})

// naiveGEMM is a thread for each element of the result: naive.cu.
func naiveGEMM() *GEMM {
	return &GEMM{
		Name: "naive", Kernels: kernelsFor("naive", "naive_gemm", collective.SM80),
		Shape: naiveShape, Tiles: naiveTiles,
	}
}

func onlyNaiveGEMM() []*GEMM { return []*GEMM{naiveGEMM()} }

// naiveShape has a block for each tile, as far as they fit on the device at the same time.
func naiveShape(w shardedProblem, sms int) cudart.Launch {
	const blocksPerSM = 8
	return cudart.Launch{Blocks: int(min(naiveTiles(w.Problem, 1), int64(blocksPerSM*sms))), Threads: naiveTile * naiveTile}
}

const naiveTile = 16 // rows and columns

func naiveTiles(p Problem, _ int) int64 {
	return (p.M + naiveTile - 1) / naiveTile * ((p.N + naiveTile - 1) / naiveTile)
}

// product is a product to launch: of `rows` rows of a, into c.
type product struct {
	rows int64
	a, c cudart.DevicePtr
}

// shardedProblem is what a kernel is launched for: a problem in so many shards of rows.
type shardedProblem struct {
	Problem
	shards  int
	gathers bool  // the peers' shards of A arrive during the call
	peers   int   // ranks that each sum is stored to besides its owner
	rowsOfA int64 // of this rank
}

func (p product) sharded(call Call) shardedProblem {
	return shardedProblem{Problem: Problem{p.rows, call.N, call.K, call.DType}, shards: 1, rowsOfA: p.rows}
}

// GPU is what decides which GEMM multiplies, and in how many waves: the compute capability, 10*major+minor, and the number
// of multiprocessors, the least of all ranks' devices.
type GPU struct{ SM, SMs int }

// choose picks the first GEMM of a list that has a kernel for a problem on the device, and of those of its name the one that
// takes the least time.
func choose(gemms []*GEMM, kernels func(*GEMM) []collective.Kernel, w shardedProblem, on GPU) (*GEMM, collective.Kernel, error) {
	var best *GEMM
	var kernel collective.Kernel
	for _, g := range gemms {
		k, ok := find(kernels(g), w.DType, on.SM)
		if !ok && !g.BLAS {
			continue
		}
		if best == nil || g.Name == best.Name && g.Cost(w, on.SMs) < best.Cost(w, on.SMs) {
			best, kernel = g, k
		}
	}
	if best == nil {
		return nil, kernel, fmt.Errorf("no kernel multiplies %s on compute capability %d.%d", w.Problem, on.SM/10, on.SM%10)
	}
	return best, kernel, nil
}

// waves is the number of waves of tiles: one where all tiles are multiplied at once.
func (g *GEMM) waves(w shardedProblem, sms int) int64 {
	return tiles(g.Tiles(w.Problem, w.shards), int64(g.Shape(w, sms).Blocks))
}

// gpu is this rank's GPU, with the multiprocessors of the smallest of all ranks.
func (r *Runner) gpu() GPU { return GPU{r.SM(), r.SMs} }

// shape is the launch of a kernel of a GEMM, with programmatic dependent launch if both allow it.
func (r *Runner) shape(g *GEMM, k collective.Kernel, w shardedProblem) cudart.Launch {
	shape := g.Shape(w, r.SMs)
	shape.PDL = shape.PDL && r.PDL(k)
	return shape
}

// ofProduct lists the kernels of a GEMM that only multiply.
func ofProduct(g *GEMM) []collective.Kernel { return g.Kernels }

// multiplication is the parameters of a local product.
func (r *Runner) multiplication(call Call, what product) Params {
	p := r.Params(call)
	p.M, p.A, p.C = what.rows, uint64(what.a), uint64(what.c)
	return p
}

// prepareGEMM loads the kernel of a product, and encodes its tensor maps.
func (r *Runner) prepareGEMM(gemms []*GEMM, call Call, what product) error {
	p := r.multiplication(call, what)
	w := what.sharded(call)
	g, k, err := choose(gemms, ofProduct, w, r.gpu())
	if err != nil {
		return err
	}
	if g.BLAS {
		return r.prepareBLAS()
	}
	if _, err := r.Load(k); err != nil {
		return err
	}
	return g.complete(r, &p, w)
}

// complete is Complete, if there is any.
func (g *GEMM) complete(r *Runner, p *Params, w shardedProblem) error {
	if g.Complete == nil {
		return nil
	}
	return g.Complete(r, p, w)
}

// multiply puts a product on the main stream.
func (r *Runner) multiply(gemms []*GEMM, call Call, what product) error {
	w := what.sharded(call)
	g, k, err := choose(gemms, ofProduct, w, r.gpu())
	if err != nil {
		return err
	}
	if g.BLAS {
		return r.multiplyByBLAS(w.Problem, what.a, r.Local(call.B), what.c)
	}
	kernel, err := r.Load(k)
	if err != nil {
		return err
	}
	p := r.multiplication(call, what)
	if err := g.complete(r, &p, w); err != nil {
		return err
	}
	return r.Main.Launch(kernel, r.shape(g, k, w), p.Bytes())
}
