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

// product is what the reference knows of a problem.
func product(o *matmul.Operation, p matmul.Problem, world int, pattern reference.Pattern,
	seed uint64,
) reference.Product {
	return reference.Product{
		Seed: seed, Pattern: pattern, DType: p.DType, M: p.M, N: p.N, K: p.K, World: world, Gathered: o.Gathers,
	}
}

// room is where the buffers of a call lie, with gaps that nobody writes to.
type room struct {
	matmul.Buffers
	call  matmul.Call
	bytes int64 // of its own buffers
}

// room lays out what a call has of its own from begin on. Those who come after it use the
// same staging and words of progress.
func (c matmulCall) room(begin int64, shared sharedRoom) room {
	r := room{
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

// gapBytes are behind every buffer of a call.
const gapBytes = 256

func roundUp(bytes int64) int64 { return (bytes + 255) / 256 * 256 }

// sharedRoom is where what calls have in common lies.
type sharedRoom struct{ counters, progress, staging int64 }

// sharedRoom is in the member's extra buffer.
func (m *member) sharedRoom() sharedRoom {
	progress := roundUp(matmul.ProgressBytes(m.world, matmul.MaxSplits))
	return sharedRoom{counters: m.extra, progress: m.extra + m.bytes, staging: m.extra + m.bytes + progress}
}

// image is where a call's buffers come from and go to, and work where it has them.
type image struct{ image, work room }

// stagingBytes is what the call needs there, with the words before it.
func (c matmulCall) stagingBytes() int64 {
	bytes := matmul.ProgressBytes(c.in.World, matmul.MaxSplits) + gapBytes
	if f := c.algorithm.Staging; f != nil {
		bytes += f(c.problem, c.in.World)
	}
	return bytes
}

// counterBytes is what the call counts products with.
func (c matmulCall) counterBytes() int64 {
	if f := c.algorithm.Counters; f != nil {
		return 4 * f(c.problem, c.in.World)
	}
	return 0
}

// newRunner makes a rank's side of products, whose counters and words of progress are zero on all ranks.
func newRunner(m *member) (*matmul.Runner, error) {
	copies, err := m.device.NewStream()
	if err != nil {
		return nil, err
	}
	err = m.stream.Fill(m.comm.Local(m.extra), 0, m.sharedRoom().staging-m.extra)
	m.meet()
	info := m.device.Info()
	return &matmul.Runner{
		Comm: m.comm, Device: m.device, Main: m.stream, Copies: copies,
		SMs: multiprocessors(info, m.world), LaunchesBlock: info.LaunchesBlock,
	}, err
}

// run makes a call and judges its result, and says what is wrong with it.
func (c matmulCall) run(m *member, r *matmul.Runner) error { return runMatmuls(m, r, []matmulCall{c}) }

// runMatmuls makes calls one after the other, without waiting in between, and judges all
// results. All calls use the same memory: a call's inputs are copied there when the one
// before has ended on this rank, and its results from there, so that a rank that
// begins before its peers, or goes on before they have ended, is seen to.
func runMatmuls(m *member, r *matmul.Runner, calls []matmulCall) error {
	return runMatmulsLate(m, r, calls, func() error { return nil })
}

// runMatmulsLate is runMatmuls of a rank that makes its calls when await returns, and
// the peers whenever theirs does.
func runMatmulsLate(m *member, r *matmul.Runner, calls []matmulCall, await func() error) error {
	images, at := make([]image, len(calls)), m.send
	for i, c := range calls {
		images[i] = image{image: c.room(at, m.sharedRoom()), work: c.room(m.recv, m.sharedRoom())}
		at += images[i].image.bytes
		err := errors.Join(c.prepare(m, images[i].image), r.Prepare(c.algorithm, images[i].work.call))
		if err != nil {
			return err
		}
	}
	m.meet() // nobody loads a module any more while kernels wait: see loadKernels
	if err := await(); err != nil {
		return err
	}
	for i, c := range calls {
		if err := c.enqueue(m, r, images[i]); err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
	}
	if err := m.synchronize(); err != nil {
		return fmt.Errorf("%s and %d more: %w", calls[0], len(calls)-1, err)
	}
	for i, c := range calls {
		if err := errors.Join(c.judge(m, images[i].image), images[i].image.checkGaps(m)); err != nil {
			return err
		}
	}
	return nil
}

// enqueue makes a call, and copies its buffers there before, and back behind it.
func (c matmulCall) enqueue(m *member, r *matmul.Runner, i image) error {
	image, work := m.comm.Local(i.image.call.A), m.comm.Local(i.work.call.A)
	if err := m.stream.Copy(work, image, i.image.bytes); err != nil {
		return err
	}
	if err := r.Enqueue(c.algorithm, i.work.call); err != nil {
		return err
	}
	return m.stream.Copy(image, work, i.image.bytes)
}

// prepare writes a call's inputs, and poisons its outputs and the gaps.
func (c matmulCall) prepare(m *member, room room) error {
	call := room.call
	a, b := make([]byte, room.A), make([]byte, room.B)
	c.in.FillA(a, m.rank, 0)
	c.in.FillB(b, m.rank, 0)
	const nan = 0xff
	return errors.Join(
		m.stream.Fill(m.comm.Local(call.A), guardByte, room.bytes),
		m.stream.Fill(m.comm.Local(call.AFull), nan, room.AFull),
		m.stream.Fill(m.comm.Local(call.C), nan, room.C),
		m.stream.Upload(m.comm.Local(call.A), a),
		m.stream.Upload(m.comm.Local(call.B), b),
	)
}

// checkGaps finds what was written beyond a buffer.
func (r room) checkGaps(m *member) error {
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

// judge compares every element of all outputs, and of the inputs.
func (c matmulCall) judge(m *member, room room) error {
	call := room.call
	download := func(at, bytes int64) ([]byte, error) {
		got := make([]byte, bytes)
		return got, m.stream.Download(got, m.comm.Local(at))
	}
	a, errA := download(call.A, room.A)
	full, errFull := download(call.AFull, room.AFull)
	b, errB := download(call.B, room.B)
	result, errC := download(call.C, room.C)
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

// matmulShapes are sizes that are no multiple of any tile; M is that of each rank, but
// for the last, where the last rank has fewer rows than others, or none. Where the
// ranks are many, the large ones take long and find nothing new. The second has more
// slices of K than any kernel has stages.
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

// matmulCalls are calls of all algorithms of gpurun's own that can do a problem, in some
// order: each once or twice.
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

// Every algorithm for products is right on shapes that are no multiple of anything.
func TestEveryMatmul(t *testing.T) {
	t.Parallel()
	for _, world := range sample([]int{1, 2, 3, 4, 8}, 0, 1, 2, 3) {
		t.Run(fmt.Sprint(world), func(t *testing.T) { runEveryMatmul(t, world, nil, uint64(world), matmulShapes(world)) })
	}
}

// So are the kernels for older GPUs.
func TestEveryMatmulOnOlderGPUs(t *testing.T) {
	t.Parallel()
	for _, major := range []int{8, 9} {
		runEveryMatmul(t, 2, sim.New(1, sim.Options{Major: major}), uint64(major), matmulShapes(2))
	}
}

// So are tiles of every width that there is for compute capability 9.0: columns just
// short of a width are multiplied by one tile of it, of more slices than a ring has stages, one after the other, with
// and without disorder.
func TestFusedMatmulsOfEveryWidth(t *testing.T) {
	t.Parallel()
	const world = 2
	for i, n := range sample([]int64{250, 220, 200, 100}, 0, 3) {
		p := matmul.Problem{M: 140 * world, N: n, K: 392, DType: matmul.DTypes()[i%2]}
		calls := slices.DeleteFunc(matmulCalls(p, world, uint64(i)), func(c matmulCall) bool {
			return !strings.HasPrefix(c.algorithm.Name, "fused") && c.algorithm.Name != "decomposed"
		})
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

// So are all where the simulator tears vectors, delays weak stores, and shuffles turns of
// kernels and copies: nobody may rely on more than the memory model promises.
func TestEveryMatmulInDisorder(t *testing.T) {
	t.Parallel()
	for _, seed := range seeds(4, 0, 3) {
		world := 2 + int(seed/2)
		backend := sim.New(1, sim.Options{Seed: seed + 1, Major: 8 + int(seed%2)})
		runEveryMatmul(t, world, backend, seed, matmulShapes(world)[1:3])
	}
}

// What communicates while it multiplies has the most to rely on, and the least to do
// where matrices are small: then most orders of events come about.
func TestFusedMatmulsInDisorder(t *testing.T) {
	t.Parallel()
	for _, seed := range seeds(16, 0, 1, 6, 7) {
		world := 2 + int(seed/2%2)
		backend := sim.New(1, sim.Options{Seed: seed + 1, Major: 8 + int(seed%2)})
		p := matmul.Problem{M: 9 * int64(world), N: 40, K: 8, DType: matmul.DTypes()[seed/4%2]}
		runMatmulGroup(t, world, backend, [][]matmulCall{fusedCalls(p, world, seed)})
	}
}

// A block that has one tile after the other stores each while it multiplies the next, and fetches what the peers have
// of it into the same place.
func TestFusedMatmulsOfFewBlocksInDisorder(t *testing.T) {
	t.Parallel()
	for _, seed := range seeds(4, 0, 3) {
		world := 2 + int(seed/2%2)
		p := matmul.Problem{M: 70 * int64(world), N: 400 - int64(seed/2), K: 8, DType: matmul.DTypes()[seed/2%2]}
		calls := fusedCalls(p, world, seed)
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

// So are all on a GPU, which the ranks share.
func TestEveryMatmulOnGPU(t *testing.T) {
	sideBySide(t)
	gpu := requireGPU(t)
	for _, world := range []int{1, 2, 4} {
		runEveryMatmul(t, world, gpu, uint64(world), matmulShapes(world))
	}
}

// runEveryMatmul makes every call of each shape.
func runEveryMatmul(t *testing.T, world int, backend cudart.Backend, seed uint64, shapes []matmul.Problem) {
	t.Helper()
	var batches [][]matmulCall
	for i, shape := range shapes {
		batches = append(batches, matmulCalls(shape, world, seed+uint64(i)<<32))
	}
	runMatmulGroup(t, world, backend, batches)
}

// groupFor has memory for each of some batches of calls.
func groupFor(world int, backend cudart.Backend, batches ...[]matmulCall) group {
	// on one GPU early blocks would take others' place
	g := group{world: world, backend: backend, pdl: backend == nil || backend.Name() == "sim"}
	for _, calls := range batches {
		room := int64(0)
		for _, c := range calls {
			room += c.room(0, sharedRoom{}).bytes
			g.bytes = max(g.bytes, room, c.stagingBytes(), c.counterBytes())
		}
	}
	return g
}

// runMatmulGroup runs batches of calls, one after the other, in a group that has memory
// for each.
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
