package conformance

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"gpurun/cudart"
	"gpurun/cudart/sim"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
	"gpurun/kernels/reference"
)

// waitCounter counts the waits for words that are enqueued on a stream.
type waitCounter struct {
	cudart.Stream
	count int
}

func (w *waitCounter) WaitValue(addr cudart.DevicePtr, value uint32) error {
	w.count++
	return w.Stream.WaitValue(addr, value)
}

// Products are copied to their owners if multiprocessors have as many tiles each as there are ranks, and if launches do
// not block. If sums go everywhere among more than two ranks, three times as many tiles are needed. Otherwise kernels
// push the products.
func TestProductsAreCopiedOrPushed(t *testing.T) {
	parallelInSimulator(t)
	const tile = 128
	for _, c := range []struct {
		world               int
		tilesPerSM          int64
		blocks              bool
		scatters, allreduce bool // are copied
	}{
		{2, 1, false, false, false},
		{2, 2, false, true, true},
		{2, 2, true, false, false},
		{3, 2, false, false, false},
		{3, 3, false, true, false},
		{3, 8, false, true, false},
		{3, 9, false, true, true},
	} {
		for _, o := range matmul.Operations() {
			if !o.Reduces {
				continue
			}
			p := matmul.Problem{M: int64(tile * c.world), N: tile * c.tilesPerSM, K: 8, DType: collective.Half}
			a, _ := o.Algorithm("fused")
			call := matmulCall{operation: o, algorithm: a, problem: p, splits: 1, in: product(o, p, c.world, reference.Exact, 1)}
			groupFor(c.world, sim.New(1, sim.Options{Major: 8}), []matmulCall{call}).run(t, func(m *member) error {
				r, err := newRunner(m)
				if err != nil {
					return err
				}
				r.SMs = c.world // a tile of each shard at a time
				copies := &waitCounter{Stream: r.Copies}
				r.Copies = copies
				r.LaunchesBlock = c.blocks
				if err := call.run(m, r); err != nil {
					return err
				}
				want := c.allreduce
				if o.Scatters {
					want = c.scatters
				}
				if got := copies.count > 0; got != want {
					return fmt.Errorf("%s, %d ranks, %d tiles for each multiprocessor, blocking %t: copies are %t", o.Name, c.world,
						c.tilesPerSM, c.blocks, got)
				}
				return nil
			})
		}
	}
}

// Products are copied in several chunks, the last of which has fewer parts. They arrive complete, call after call,
// beside pushed products that are counted with the same words.
func TestProductsAreCopiedInChunks(t *testing.T) {
	t.Parallel()
	const world, chunks = 2, 2
	for _, major := range inTurn([]int{8, 9}, 1) {
		p := matmul.Problem{M: world, N: columnsOfTwoChunks(major), K: 8, DType: collective.Half}
		var calls []matmulCall
		for i, o := range matmul.Operations() {
			for _, name := range []string{"fused_copy", "fused_push", "fused_copy"} {
				if a, ok := o.Algorithm(name); ok {
					in := product(o, p, world, reference.Exact, uint64(i))
					calls = append(calls, matmulCall{operation: o, algorithm: a, problem: p, splits: 1, in: in})
				}
			}
		}
		groupFor(world, sim.New(1, sim.Options{Major: major}), calls).run(t, func(m *member) error {
			r, err := newRunner(m)
			if err != nil {
				return err
			}
			copies := &waitCounter{Stream: r.Copies}
			r.Copies = copies
			if err := runMatmuls(m, r, calls); err != nil {
				return err
			}
			if want := chunks * 4 * (world - 1); copies.count != want {
				return fmt.Errorf("%d.0: products came in %d chunks, want %d", major, copies.count, want)
			}
			return nil
		})
	}
}

// columnsOfTwoChunks is a number of columns whose products fill two chunks, with few rows.
func columnsOfTwoChunks(major int) int64 { return map[int]int64{8: 73 * 128, 9: 19 * 224}[major] }

// When a call ends, no peer still copies this rank's products: later work on the stream may overwrite them, without
// asking whether the peers have begun.
func TestProductsAreCopiedBeforeACallEnds(t *testing.T) {
	parallelInSimulator(t)
	for _, seed := range seeds(4, 3) {
		world := 2 + int(seed/2)
		p := matmul.Problem{M: 2 * int64(world), N: 8, K: 8, DType: collective.Half}
		var calls []matmulCall
		for _, c := range slices.Concat(fusedCalls(p, world, seed), fusedCalls(p, world, seed+1)) {
			if c.operation.Reduces {
				calls = append(calls, overwritingStaging(c))
			}
		}
		runMatmulGroup(t, world, sim.New(1, sim.Options{Major: 8 + int(seed%2), Seed: seed + 1}), [][]matmulCall{calls})
	}
}

// overwritingStaging is a call that overwrites its staging after it has ended.
func overwritingStaging(c matmulCall) matmulCall {
	a, enqueue := *c.algorithm, c.algorithm.Enqueue
	a.Enqueue = func(r *matmul.Runner, call matmul.Call) error {
		err := enqueue(r, call)
		return errors.Join(err, r.Main.Fill(r.Local(call.Staging), 0xff, a.Staging(c.problem, c.in.World)))
	}
	c.algorithm = &a
	return c
}

// The same if all chunks but the first are late, so that rank 1 would have time to end the call and to overwrite the
// data that rank 0 copies. In other calls rank 1 is delayed for further reasons: sums go everywhere, or the thread that
// waits has tiles of its own.
func TestAllChunksAreCopiedBeforeACallEnds(t *testing.T) {
	const world, major, late = 2, 9, 2 * time.Second
	t.Parallel() // it mostly waits
	p := matmul.Problem{M: world, N: columnsOfTwoChunks(major), K: 8, DType: collective.Half}
	i := slices.IndexFunc(copiedCalls(p, world), func(c matmulCall) bool { return c.operation.Scatters })
	c := overwritingStaging(copiedCalls(p, world)[i])
	groupFor(world, sim.New(1, sim.Options{Major: major}), []matmulCall{c}).run(t, func(m *member) error {
		r, err := newRunner(m)
		if err != nil || m.rank > 0 {
			return errors.Join(err, c.run(m, r))
		}
		return runWithDelayedCopies(m, r, c, late)
	})
}

// delayedCopies is a stream whose copies, except the first, wait until a word is 1.
type delayedCopies struct {
	cudart.Stream
	word   cudart.DevicePtr
	copies int
}

func (g *delayedCopies) Copy(dst, src cudart.DevicePtr, bytes int64) error {
	g.copies++
	var err error
	if g.copies > 1 {
		err = g.Stream.WaitValue(g.word, 1)
	}
	return errors.Join(err, g.Stream.Copy(dst, src, bytes))
}

// runWithDelayedCopies makes a call whose copies, except the first, begin after some time.
func runWithDelayedCopies(m *member, r *matmul.Runner, c matmulCall, after time.Duration) error {
	word, errWord := m.device.Malloc(4)
	key, errKey := m.device.NewStream()
	if err := errors.Join(errWord, errKey, m.stream.Fill(word, 0, 4), m.synchronize()); err != nil {
		return err
	}
	copies := &delayedCopies{Stream: r.Copies, word: word}
	r.Copies = copies
	a, enqueue := *c.algorithm, c.algorithm.Enqueue
	a.Enqueue = func(r *matmul.Runner, call matmul.Call) error {
		err := enqueue(r, call)
		m.sleep(after)
		return errors.Join(err, key.WriteValue(word, 1))
	}
	c.algorithm = &a
	if err := c.run(m, r); err != nil || copies.copies > 1 {
		return err
	}
	return errors.New("products came in one chunk: none was late")
}

// copiedCalls are a call of each operation whose products are copied.
func copiedCalls(p matmul.Problem, world int) []matmulCall {
	return slices.DeleteFunc(fusedKinds(p, world), func(c matmulCall) bool { return c.algorithm.Name != "fused_copy" })
}

// Ranks whose shard has no rows get parts without rows, which are still counted if products are copied.
func TestShardsWithoutRows(t *testing.T) {
	parallelInSimulator(t)
	const world = 3
	for _, major := range []int{8, 9} {
		var batches [][]matmulCall
		for _, rows := range []int64{world + 1, 1} {
			p := matmul.Problem{M: rows, N: 8, K: 8, DType: collective.Half}
			batches = append(batches, fusedCalls(p, world, uint64(rows)))
		}
		runMatmulGroup(t, world, sim.New(1, sim.Options{Major: major}), batches)
	}
}

// Each product is rounded once, including that of the rank that adds them: the sums of two ranks have the same bits in
// fused and in decomposed algorithms.
func TestSumsUseRoundedProducts(t *testing.T) {
	parallelInSimulator(t)
	const world = 2
	for _, major := range []int{8, 9} {
		for _, o := range matmul.Operations() {
			if !o.Reduces {
				continue
			}
			p := matmul.Problem{M: 16 * world, N: 40, K: 72, DType: collective.BFloat16}
			var calls []matmulCall
			for _, name := range []string{"decomposed", "fused"} {
				a, _ := o.Algorithm(name)
				calls = append(calls, matmulCall{
					operation: o, algorithm: a, problem: p, splits: 1, in: product(o, p, world, reference.Random, 1),
				})
			}
			groupFor(world, sim.New(1, sim.Options{Major: major}), calls).run(t, func(m *member) error {
				r, err := newRunner(m)
				if err != nil {
					return err
				}
				var results [2][]byte
				for i, c := range calls {
					err := c.run(m, r)
					layout := c.layout(m.send, m.sharedLayout())
					results[i] = make([]byte, layout.C)
					if err := errors.Join(err, m.stream.Download(results[i], m.comm.Local(layout.call.C))); err != nil {
						return err
					}
					m.meet()
				}
				if !bytes.Equal(results[0], results[1]) {
					return fmt.Errorf("%s on %d.0: fused sums are not those of decomposed", o.Name, major)
				}
				return nil
			})
		}
	}
}
