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

// waits counts the waits for words that a stream is given.
type waits struct {
	cudart.Stream
	count int
}

func (w *waits) WaitValue(addr cudart.DevicePtr, value uint32) error {
	w.count++
	return w.Stream.WaitValue(addr, value)
}

// Products are copied to their owners where multiprocessors have as many tiles each as there are ranks, three times as
// many among more than two ranks if sums go everywhere, and launches do not block; else kernels push them.
func TestProductsAreCopiedOrPushed(t *testing.T) {
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
				copies := &waits{Stream: r.Copies}
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

// Products that are copied in several chunks, the last of which has fewer parts than others, arrive whole, call after
// call, beside others that are pushed and count with the same words.
func TestProductsAreCopiedInChunks(t *testing.T) {
	t.Parallel()
	const world, chunks = 2, 2
	for _, major := range []int{8, 9} {
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
			copies := &waits{Stream: r.Copies}
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

// columnsOfTwoChunks is how many a few rows must have for their products to come in two chunks.
func columnsOfTwoChunks(major int) int64 { return map[int]int64{8: 73 * 128, 9: 19 * 224}[major] }

// When a call ends no peer copies this rank's products any more: what is behind it may write where they were, and
// does not ask whether the peers have begun.
func TestProductsAreTakenBeforeACallEnds(t *testing.T) {
	for _, seed := range seeds(4, 0, 3) {
		world := 2 + int(seed/2)
		p := matmul.Problem{M: 2 * int64(world), N: 8, K: 8, DType: collective.Half}
		var calls []matmulCall
		for _, c := range slices.Concat(fusedCalls(p, world, seed), fusedCalls(p, world, seed+1)) {
			if c.operation.Reduces {
				calls = append(calls, thenOverwriteStaging(c))
			}
		}
		runMatmulGroup(t, world, sim.New(1, sim.Options{Major: 8 + int(seed%2), Seed: seed + 1}), [][]matmulCall{calls})
	}
}

// thenOverwriteStaging is a call that writes over its staging when it has ended.
func thenOverwriteStaging(c matmulCall) matmulCall {
	a, enqueue := *c.algorithm, c.algorithm.Enqueue
	a.Enqueue = func(r *matmul.Runner, call matmul.Call) error {
		err := enqueue(r, call)
		return errors.Join(err, r.Main.Fill(r.Local(call.Staging), 0xff, a.Staging(c.problem, c.in.World)))
	}
	c.algorithm = &a
	return c
}

// Nor do they where all but the first chunk come late, when rank 1 has had time to end the call and to write over what
// rank 0 copies. Where sums go everywhere, or the thread that says so has tiles of its own, more holds rank 1 up.
func TestAllChunksAreTakenBeforeACallEnds(t *testing.T) {
	const world, major, late = 2, 9, 2 * time.Second
	t.Parallel() // it mostly waits
	p := matmul.Problem{M: world, N: columnsOfTwoChunks(major), K: 8, DType: collective.Half}
	i := slices.IndexFunc(copiedCalls(p, world), func(c matmulCall) bool { return c.operation.Scatters })
	c := thenOverwriteStaging(copiedCalls(p, world)[i])
	groupFor(world, sim.New(1, sim.Options{Major: major}), []matmulCall{c}).run(t, func(m *member) error {
		r, err := newRunner(m)
		if err != nil || m.rank > 0 {
			return errors.Join(err, c.run(m, r))
		}
		return runWithGate(m, r, c, late)
	})
}

// gated is a stream whose copies but the first wait for a word to be 1.
type gated struct {
	cudart.Stream
	word   cudart.DevicePtr
	copies int
}

func (g *gated) Copy(dst, src cudart.DevicePtr, bytes int64) error {
	g.copies++
	var err error
	if g.copies > 1 {
		err = g.Stream.WaitValue(g.word, 1)
	}
	return errors.Join(err, g.Stream.Copy(dst, src, bytes))
}

// runWithGate makes a call whose copies but the first begin after some time.
func runWithGate(m *member, r *matmul.Runner, c matmulCall, after time.Duration) error {
	word, errWord := m.device.Malloc(4)
	key, errKey := m.device.NewStream()
	if err := errors.Join(errWord, errKey, m.stream.Fill(word, 0, 4), m.synchronize()); err != nil {
		return err
	}
	copies := &gated{Stream: r.Copies, word: word}
	r.Copies = copies
	a, enqueue := *c.algorithm, c.algorithm.Enqueue
	a.Enqueue = func(r *matmul.Runner, call matmul.Call) error {
		err := enqueue(r, call)
		time.Sleep(after)
		return errors.Join(err, key.WriteValue(word, 1))
	}
	c.algorithm = &a
	if err := c.run(m, r); err != nil || copies.copies > 1 {
		return err
	}
	return errors.New("products came in one chunk: none was late")
}

// copiedCalls are one of each operation whose products are copied.
func copiedCalls(p matmul.Problem, world int) []matmulCall {
	return slices.DeleteFunc(fusedKinds(p, world), func(c matmulCall) bool { return c.algorithm.Name != "fused_copy" })
}

// Ranks whose shard has no rows get parts without any, which are counted all the same where they are copied.
func TestShardsWithoutRows(t *testing.T) {
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

// Each product is rounded once, also that of who adds them up: two ranks' sums are the same bits whether they are
// made meanwhile or afterwards.
func TestSumsAreThoseOfRoundedProducts(t *testing.T) {
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
					room := c.room(m.send, m.sharedRoom())
					results[i] = make([]byte, room.C)
					if err := errors.Join(err, m.stream.Download(results[i], m.comm.Local(room.call.C))); err != nil {
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
