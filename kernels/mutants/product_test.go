package mutants

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"gpurun/cudart"
	"gpurun/cudart/sim/check"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
	"gpurun/kernels/ptx"
	"gpurun/kernels/reference"
)

// product is calls of a fused product, one behind the other without a wait.
type product struct {
	operation *matmul.Operation
	algorithm *matmul.Algorithm
	problem   matmul.Problem
	world     int
	want      *outputs
}

const (
	productCalls = 2  // that follow each other
	productShare = 10 // one in how many mutants is judged, because runs take long
)

// products lists the kernels of fused products for two ranks: by mma on compute capability 8.0, by wgmma on 9.0. The
// depth needs each stage of shared memory more than once. The matrices are small: kernels of wide tiles are left out.
func products() (all []*subject, err error) {
	const world = 2
	for _, major := range []int{8, 9} {
		for _, o := range matmul.Operations() {
			for _, a := range o.Algorithms {
				p := matmul.Problem{M: 9 * world, N: 40, K: 200, DType: collective.Half}
				if a.Library != "" || a.NoCommunication || a.Check(p, world) != nil {
					continue
				}
				for _, k := range a.Kernels {
					wide := strings.Contains(k.Module.Name, "_224_") || strings.Contains(k.Module.Name, "_256_")
					if k.DType.Name != p.DType.Name || !k.Module.Arch.RunsOn(10*major) || wide {
						continue
					}
					text, err := ptx.Source(k.Module.Name)
					if err != nil {
						return nil, err
					}
					x := &product{operation: o, algorithm: a, problem: p, world: world, want: &outputs{}}
					all = append(all, &subject{
						name: o.Name + " " + a.Name, world: world, major: major, sms: 2, share: productShare,
						module: k.Module.Name, entry: k.Entry, text: text, task: func(text []byte) (func(*check.Rank) error, error) {
							return x.with(k.Module.Name, text), nil
						},
					})
				}
			}
		}
	}
	return all, nil
}

// outputs are what the original gives, by rank and call.
type outputs struct {
	mu  sync.Mutex
	all map[[2]int][]byte
}

// compare compares an output with the original's, which comes first.
func (o *outputs) compare(rank, call int, got []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = map[[2]int][]byte{}
	}
	key := [2]int{rank, call}
	if o.all[key] == nil {
		o.all[key] = got
	}
	if !bytes.Equal(o.all[key], got) {
		return fmt.Errorf("the result of call %d is wrong on rank %d", call+1, rank)
	}
	return nil
}

// with is the task of a rank with a text of a module.
func (x *product) with(module string, text []byte) func(*check.Rank) error {
	source := replaced(module, text)
	return func(r *check.Rank) error {
		m := &multiplier{product: x, Rank: r}
		if err := m.join(source); err != nil {
			return err
		}
		return errors.Join(m.run(), m.comm.Close())
	}
}

// multiplier is a rank of a product.
type multiplier struct {
	*product
	*check.Rank
	comm   *collective.Comm
	runner *matmul.Runner
	call   matmul.Call
	begin  int64 // of the call's own buffers, and their bytes
	bytes  int64
}

// join lays out the memory and makes the communicator.
func (m *multiplier) join(source collective.Source) (err error) {
	cfg := collective.Config{
		Device: m.Device, Source: source, Rank: m.Number, Timeout: 30 * time.Second, SMs: m.Device.Info().SMs,
		PacketBytes: collective.PacketAreaBytes(blocks), MailboxBytes: collective.MailboxAreaBytes(blocks),
		MaxBlocks: blocks,
	}
	at := int64(0)
	take := func(bytes int64) int64 {
		begin := at
		at += (bytes + 255) / 256 * 256
		return begin
	}
	of := func(f func(matmul.Problem, int) int64) int64 {
		if f == nil {
			return 0
		}
		return f(m.problem, m.world)
	}
	take(collective.SignalPadBytes)
	cfg.PacketOffset, cfg.MailboxOffset = take(cfg.PacketBytes), take(cfg.MailboxBytes)
	cfg.ScratchOffset = take(of(m.algorithm.Scratch))
	m.call = matmul.Call{Problem: m.problem, Splits: 1}
	m.call.Counters = take(4 * of(m.algorithm.Counters))
	m.call.Progress = take(matmul.ProgressBytes(m.world, matmul.MaxSplits))
	m.call.Staging = take(of(m.algorithm.Staging))
	sizes := m.operation.Buffers(m.problem, m.world)
	m.begin = at
	m.call.A, m.call.AFull, m.call.B, m.call.C = take(sizes.A), take(sizes.AFull), take(sizes.B), take(sizes.C)
	m.bytes = at - m.begin
	base, err := m.Device.Malloc(at)
	if err != nil {
		return err
	}
	m.Name(base, m.begin, "signals and staging")
	m.Name(base+cudart.DevicePtr(m.begin), m.bytes, "matrices")
	if cfg.Peers, err = m.Share(base); err != nil {
		return err
	}
	if m.comm, err = collective.New(cfg); err != nil {
		return err
	}
	main, errMain := m.Device.NewStream()
	copies, errCopies := m.Device.NewStream()
	m.runner = &matmul.Runner{Comm: m.comm, Device: m.Device, Main: main, Copies: copies, SMs: cfg.SMs}
	return errors.Join(errMain, errCopies, main.Fill(base+cudart.DevicePtr(m.call.Counters), 0,
		m.begin-m.call.Counters))
}

// run makes all calls. Copies make the inputs of each, and keep its outputs.
func (m *multiplier) run() error {
	main, work := m.runner.Main, m.comm.Local(m.begin)
	var kept []cudart.DevicePtr
	for number := range productCalls {
		at, err := m.Device.Malloc(m.bytes)
		if err != nil {
			return err
		}
		if err := m.fill(number, at); err != nil {
			return err
		}
		kept = append(kept, at)
	}
	if err := errors.Join(m.runner.Prepare(m.algorithm, m.call), main.Synchronize(context.Background())); err != nil {
		return err
	}
	if err := m.Meet(); err != nil {
		return err
	}
	for _, at := range kept {
		err := errors.Join(main.Copy(work, at, m.bytes), m.runner.Enqueue(m.algorithm, m.call), main.Copy(at, work, m.bytes))
		if err != nil {
			return err
		}
	}
	if err := errors.Join(main.Synchronize(context.Background()), m.comm.Err()); err != nil {
		return err
	}
	for number, at := range kept {
		got := make([]byte, m.bytes)
		if err := errors.Join(main.Download(got, at), m.want.compare(m.Number, number, got)); err != nil {
			return err
		}
	}
	return nil
}

// fill writes the matrices of a call to the memory from at on.
func (m *multiplier) fill(number int, at cudart.DevicePtr) error {
	sizes := m.operation.Buffers(m.problem, m.world)
	in := reference.Product{
		Seed: uint64(number), DType: m.problem.DType, M: m.problem.M, N: m.problem.N, K: m.problem.K, World: m.world,
		Gathered: m.operation.Gathers,
	}
	a, b := make([]byte, sizes.A), make([]byte, sizes.B)
	in.FillA(a, m.Number, 0)
	in.FillB(b, m.Number, 0)
	place := func(offset int64) cudart.DevicePtr { return at + cudart.DevicePtr(offset-m.begin) }
	return errors.Join(m.runner.Main.Fill(at, 0, m.bytes), m.runner.Main.Upload(place(m.call.A), a),
		m.runner.Main.Upload(place(m.call.B), b))
}
