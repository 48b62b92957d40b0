package conformance

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gpurun/cudart"
	"gpurun/cudart/sim"
	"gpurun/kernels/matmul"
	"gpurun/kernels/reference"
)

// matmulCall is a call of one algorithm for products, with inputs for all ranks.
type matmulCall struct {
	operation *matmul.Operation
	algorithm *matmul.Algorithm
	problem   matmul.Problem
	splits    int
	in        reference.Product
}

func (c matmulCall) String() string {
	return fmt.Sprintf("%s %s, %s, %d ranks, %d splits, pattern %d", c.operation.Name, c.algorithm.Name, c.problem,
		c.in.World, c.splits, c.in.Pattern)
}

// product is the reference's description of a problem.
func product(o *matmul.Operation, p matmul.Problem, world int, pattern reference.Pattern,
	seed uint64,
) reference.Product {
	return reference.Product{
		Seed: seed, Pattern: pattern, DType: p.DType, M: p.M, N: p.N, K: p.K, World: world, Gathered: o.Gathers,
	}
}

// layout is the offsets and sizes of the buffers of a call, with gaps that no kernel may write to.
type layout struct {
	matmul.Buffers
	call  matmul.Call
	bytes int64 // of its own buffers
}

// layout places the buffers of a call from begin on. Calls share staging, counters and words of progress.
func (c matmulCall) layout(begin int64, shared sharedLayout) layout {
	r := layout{
		Buffers: c.operation.Buffers(c.problem, c.in.World),
		call: matmul.Call{
			Problem: c.problem, Splits: c.splits, Counters: shared.counters, Staging: shared.staging, Progress: shared.progress,
		},
	}
	for _, x := range []struct {
		at    *int64
		bytes int64
	}{{&r.call.A, r.A}, {&r.call.AFull, r.AFull}, {&r.call.B, r.B}, {&r.call.C, r.C}} {
		*x.at = begin + r.bytes
		r.bytes += roundUp(x.bytes) + gapBytes
	}
	return r
}

// gapBytes is the size of the gap after every buffer of a call.
const gapBytes = 256

func roundUp(bytes int64) int64 { return (bytes + 255) / 256 * 256 }

// sharedLayout is the offsets of the memory that calls share.
type sharedLayout struct{ counters, progress, staging int64 }

// sharedLayout is in the member's extra buffer.
func (m *member) sharedLayout() sharedLayout {
	progress := roundUp(matmul.ProgressBytes(m.world, matmul.MaxSplits))
	return sharedLayout{counters: m.extra, progress: m.extra + m.bytes, staging: m.extra + m.bytes + progress}
}

// placedCall is the two layouts of a call: where its inputs and results are saved, and where the call works.
type placedCall struct{ saved, work layout }

// stagingBytes is the size of the call's staging, with the words before it.
func (c matmulCall) stagingBytes() int64 {
	bytes := matmul.ProgressBytes(c.in.World, matmul.MaxSplits) + gapBytes
	if f := c.algorithm.Staging; f != nil {
		bytes += f(c.problem, c.in.World)
	}
	return bytes
}

// counterBytes is the size of the call's counters.
func (c matmulCall) counterBytes() int64 {
	if f := c.algorithm.Counters; f != nil {
		return 4 * f(c.problem, c.in.World)
	}
	return 0
}

// newRunner makes a rank's Runner, with counters and words of progress that are zero on all ranks.
func newRunner(m *member) (*matmul.Runner, error) {
	copies, err := m.device.NewStream()
	if err != nil {
		return nil, err
	}
	err = m.stream.Fill(m.comm.Local(m.extra), 0, m.sharedLayout().staging-m.extra)
	m.meet()
	info := m.device.Info()
	return &matmul.Runner{
		Comm: m.comm, Device: m.device, Main: m.stream, Copies: copies,
		SMs: multiprocessors(info, m.world), LaunchesBlock: info.LaunchesBlock,
	}, err
}

// run makes a call, and returns what is wrong with its result.
func (c matmulCall) run(m *member, r *matmul.Runner) error { return runMatmuls(m, r, []matmulCall{c}) }

// runMatmuls makes calls one after the other, without waiting in between, and verifies all results. All calls use the
// same memory: the inputs of a call are copied there after the previous call has ended on this rank, and its results
// are copied from there. So the results are wrong if a rank begins before its peers are ready, or goes on before they
// have ended.
func runMatmuls(m *member, r *matmul.Runner, calls []matmulCall) error {
	return runMatmulsLate(m, r, calls, func() error { return nil })
}

// runMatmulsLate is runMatmuls of a rank that makes its calls after await has returned.
func runMatmulsLate(m *member, r *matmul.Runner, calls []matmulCall, await func() error) error {
	placed, at := make([]placedCall, len(calls)), m.send
	for i, c := range calls {
		placed[i] = placedCall{saved: c.layout(at, m.sharedLayout()), work: c.layout(m.recv, m.sharedLayout())}
		at += placed[i].saved.bytes
		err := errors.Join(c.prepare(m, placed[i].saved), r.Prepare(c.algorithm, placed[i].work.call))
		if err != nil {
			return err
		}
	}
	m.meet() // no rank loads a module while kernels wait: see loadKernels
	if err := await(); err != nil {
		return err
	}
	for i, c := range calls {
		if err := c.enqueue(m, r, placed[i]); err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
	}
	if err := m.synchronize(); err != nil {
		return fmt.Errorf("%s and %d more: %w", calls[0], len(calls)-1, err)
	}
	for i, c := range calls {
		if err := errors.Join(c.judge(m, placed[i].saved), placed[i].saved.checkGaps(m)); err != nil {
			return err
		}
	}
	return nil
}

// enqueue copies the buffers of a call to where it works, makes the call, and copies them back.
func (c matmulCall) enqueue(m *member, r *matmul.Runner, p placedCall) error {
	saved, work := m.comm.Local(p.saved.call.A), m.comm.Local(p.work.call.A)
	if err := m.stream.Copy(work, saved, p.saved.bytes); err != nil {
		return err
	}
	if err := r.Enqueue(c.algorithm, p.work.call); err != nil {
		return err
	}
	return m.stream.Copy(saved, work, p.saved.bytes)
}

// prepare writes a call's inputs, and poisons its outputs and the gaps.
func (c matmulCall) prepare(m *member, layout layout) error {
	call := layout.call
	a, b := make([]byte, layout.A), make([]byte, layout.B)
	c.in.FillA(a, m.rank, 0)
	c.in.FillB(b, m.rank, 0)
	const nan = 0xff
	return errors.Join(
		m.stream.Fill(m.comm.Local(call.A), guardByte, layout.bytes),
		m.stream.Fill(m.comm.Local(call.AFull), nan, layout.AFull),
		m.stream.Fill(m.comm.Local(call.C), nan, layout.C),
		m.stream.Upload(m.comm.Local(call.A), a),
		m.stream.Upload(m.comm.Local(call.B), b),
	)
}

// checkGaps returns an error if a gap was written to.
func (r layout) checkGaps(m *member) error {
	for name, x := range map[string][2]int64{
		"A": {r.call.A, r.A}, "the gathered A": {r.call.AFull, r.AFull}, "B": {r.call.B, r.B}, "C": {r.call.C, r.C},
	} {
		gap := make([]byte, roundUp(x[1])-x[1]+gapBytes)
		if err := m.stream.Download(gap, m.comm.Local(x[0]+x[1])); err != nil {
			return err
		}
		if at := slices.IndexFunc(gap, func(b byte) bool { return b != guardByte }); at >= 0 {
			return fmt.Errorf("%s: byte %d behind %s was written to", r.call.Problem, at, name)
		}
	}
	return nil
}

// judge verifies every element of all outputs, and that the inputs have not changed.
func (c matmulCall) judge(m *member, layout layout) error {
	call := layout.call
	download := func(at, bytes int64) ([]byte, error) {
		got := make([]byte, bytes)
		return got, m.stream.Download(got, m.comm.Local(at))
	}
	a, errA := download(call.A, layout.A)
	full, errFull := download(call.AFull, layout.AFull)
	b, errB := download(call.B, layout.B)
	result, errC := download(call.C, layout.C)
	if err := errors.Join(errA, errFull, errB, errC); err != nil {
		return err
	}
	v, norms := c.in.Judge(result, 0, c.quantities(m), false)
	for name, v := range map[string]reference.Verdict{
		"A": c.in.CompareA(a, m.rank, 0), "gathered A": c.in.CompareGathered(full, 0), "B": c.in.CompareB(b, m.rank, 0),
		"C": v,
	} {
		if v.Wrong > 0 {
			return fmt.Errorf("%s: %d elements of %s are wrong, the first is %d: want %#x, got %#x", c, v.Wrong, name, v.First,
				v.Want, v.Got)
		}
	}
	if c.in.Pattern == reference.Random && !(norms.Relative() <= norms.Limit(c.in)) {
		return fmt.Errorf("%s: the norm of the error is %v, and may be %v", c, norms.Relative(), norms.Limit(c.in))
	}
	return nil
}

// matmulShapes are sizes that are no multiple of any tile. M is that of each rank, except in the last shape, in which
// the last rank has fewer rows than the others, or none. With many ranks the large shapes take long and find nothing
// new. The second shape has more slices of K than any kernel has stages.
func matmulShapes(world int) []matmul.Problem {
	all := []matmul.Problem{{M: 1, N: 1, K: 8}, {M: 7, N: 8, K: 456}}
	switch {
	case world <= 2:
		all = append(all, matmul.Problem{M: 7, N: 100, K: 64}, matmul.Problem{M: 130, N: 400, K: 8})
	case world == 3:
		all = append(all, matmul.Problem{M: 130, N: 9, K: 8})
	}
	for i := range all {
		all[i].M *= int64(world)
	}
	all = append(all, matmul.Problem{M: int64(world) + 1, N: 12, K: 72})
	for i := range all {
		all[i].DType = matmul.DTypes()[(i+world)%2]
	}
	return all
}

// matmulCalls are calls of all of gpurun's own algorithms that support a problem, in random order, each once or twice.
func matmulCalls(p matmul.Problem, world int, seed uint64) []matmulCall {
	random := rand.New(rand.NewPCG(seed, uint64(world)))
	var all []matmulCall
	for _, o := range matmul.Operations() {
		if o.Check(p, world) != nil {
			continue
		}
		for _, a := range o.Algorithms {
			if a.Library != "" || a.Check(p, world) != nil {
				continue
			}
			for range 1 + random.IntN(2) {
				in := product(o, p, world, reference.Pattern(random.IntN(2)), random.Uint64())
				all = append(all, matmulCall{operation: o, algorithm: a, problem: p, splits: 1 + random.IntN(3), in: in})
			}
		}
	}
	random.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

// oneOfEach returns the first call of each algorithm, and in an exhaustive run those of the shard as well.
func oneOfEach(calls []matmulCall) []matmulCall {
	seen, number := map[*matmul.Algorithm]bool{}, 0
	return slices.DeleteFunc(calls, func(c matmulCall) bool {
		again := seen[c.algorithm]
		seen[c.algorithm] = true
		number++
		return again && !inShard(number)
	})
}

// Every algorithm for products is right on shapes that are no multiple of a tile.
func TestEveryMatmul(t *testing.T) {
	t.Parallel()
	for _, world := range inTurn([]int{1, 2, 3, 4, 8}, 0, 2) {
		t.Run(fmt.Sprint(world), func(t *testing.T) { runEveryMatmul(t, world, nil, uint64(world), matmulShapes(world)) })
	}
}

// The same with the kernels for older GPUs.
func TestEveryMatmulOnOlderGPUs(t *testing.T) {
	t.Parallel()
	for _, major := range []int{8, 9} {
		runEveryMatmul(t, 2, sim.New(1, sim.Options{Major: major}), uint64(major), matmulShapes(2))
	}
}

// The same with tiles of every width that compute capability 9.0 has. The number of columns is slightly less than a
// width, so that tiles of this width are chosen, with more slices than a pipeline has stages; with and without
// disorder.
func TestFusedMatmulsOfEveryWidth(t *testing.T) {
	t.Parallel()
	const world = 2
	for i, n := range inTurn([]int64{250, 220, 200, 100}, 0, 3) {
		p := matmul.Problem{M: 140 * world, N: n, K: 392, DType: matmul.DTypes()[i%2]}
		calls := oneOfEach(slices.DeleteFunc(matmulCalls(p, world, uint64(i)), func(c matmulCall) bool {
			return !strings.HasPrefix(c.algorithm.Name, "fused") && c.algorithm.Name != "decomposed"
		}))
		backend := sim.New(1, sim.Options{Major: 9, Seed: uint64(i % 2)})
		groupFor(world, backend, calls).run(t, func(m *member) error {
			r, err := newRunner(m)
			if err != nil {
				return err
			}
			r.SMs = 2 // a cluster, which has tiles of both shards
			return runMatmuls(m, r, calls)
		})
	}
}

// The same in disorder: the simulator tears vectors, delays weak stores, and shuffles the turns of kernels and copies.
// No kernel may depend on more than the memory model promises.
func TestEveryMatmulInDisorder(t *testing.T) {
	t.Parallel()
	for _, seed := range seeds(4, 3) {
		world := 2 + int(seed/2)
		backend := sim.New(1, sim.Options{Seed: seed + 1, Major: 8 + int(seed%2)})
		runEveryMatmul(t, world, backend, seed, matmulShapes(world)[1:3])
	}
}

// Fused algorithms depend most on the order of events. With small matrices, most orders occur.
func TestFusedMatmulsInDisorder(t *testing.T) {
	t.Parallel()
	for _, seed := range seeds(16, 0, 1, 6, 7) {
		world := 2 + int(seed/2%2)
		backend := sim.New(1, sim.Options{Seed: seed + 1, Major: 8 + int(seed%2)})
		p := matmul.Problem{M: 9 * int64(world), N: 40, K: 8, DType: matmul.DTypes()[seed/4%2]}
		runMatmulGroup(t, world, backend, [][]matmulCall{fusedCalls(p, world, seed)})
	}
}

// A block with several tiles stores each tile while it multiplies the next one, and fetches the peers' products into
// the same memory.
func TestFusedMatmulsOfFewBlocksInDisorder(t *testing.T) {
	t.Parallel()
	for _, seed := range seeds(4, 0, 3) {
		world := 2 + int(seed/2%2)
		p := matmul.Problem{M: 70 * int64(world), N: 400 - int64(seed/2), K: 8, DType: matmul.DTypes()[seed/2%2]}
		calls := oneOfEach(fusedCalls(p, world, seed))
		backend := sim.New(1, sim.Options{Seed: seed + 1, Major: 8 + int(seed%2)})
		groupFor(world, backend, calls).run(t, func(m *member) error {
			r, err := newRunner(m)
			if err != nil {
				return err
			}
			r.SMs = 2 // a cluster
			return runMatmuls(m, r, calls)
		})
	}
}

// fusedCalls are those of matmulCalls that communicate while they multiply.
func fusedCalls(p matmul.Problem, world int, seed uint64) []matmulCall {
	return slices.DeleteFunc(matmulCalls(p, world, seed),
		func(c matmulCall) bool { return !strings.HasPrefix(c.algorithm.Name, "fused") })
}

// The same on a GPU, which the ranks share.
func TestEveryMatmulOnGPU(t *testing.T) {
	sideBySide(t)
	gpu := requireGPU(t)
	for _, world := range []int{1, 2, 4} {
		runEveryMatmul(t, world, gpu, uint64(world), matmulShapes(world))
	}
}

// runEveryMatmul makes every call of each shape, or in the simulator oneOfEach.
func runEveryMatmul(t *testing.T, world int, backend cudart.Backend, seed uint64, shapes []matmul.Problem) {
	t.Helper()
	var batches [][]matmulCall
	for i, shape := range shapes {
		calls := matmulCalls(shape, world, seed+uint64(i)<<32)
		if backend == nil || backend.Name() == "sim" { // a GPU takes no time for all
			calls = oneOfEach(calls)
		}
		batches = append(batches, calls)
	}
	runMatmulGroup(t, world, backend, batches)
}

// groupFor is a group with memory for each of some batches of calls.
func groupFor(world int, backend cudart.Backend, batches ...[]matmulCall) group {
	// on one GPU early blocks would take others' place
	g := group{world: world, backend: backend, pdl: backend == nil || backend.Name() == "sim"}
	for _, calls := range batches {
		total := int64(0)
		for _, c := range calls {
			total += c.layout(0, sharedLayout{}).bytes
			g.bytes = max(g.bytes, total, c.stagingBytes(), c.counterBytes())
		}
	}
	return g
}

// runMatmulGroup runs batches of calls, one after the other, in a group with memory for each batch.
func runMatmulGroup(t *testing.T, world int, backend cudart.Backend, batches [][]matmulCall) {
	t.Helper()
	groupFor(world, backend, batches...).run(t, func(m *member) error {
		r, err := newRunner(m)
		if err != nil {
			return err
		}
		for _, calls := range batches {
			if err := runMatmuls(m, r, calls); err != nil {
				return err
			}
			m.meet() // the peers have read what this rank fills next
		}
		return nil
	})
}
