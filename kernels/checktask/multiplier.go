package checktask

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"gpurun/cudart"
	"gpurun/cudart/sim/check"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
	"gpurun/kernels/ptx"
	"gpurun/kernels/reference"
)

// multiplier is a rank of products. A copy in the stream makes the inputs of each call, and another one keeps its
// outputs, as for collectives.
type multiplier struct {
	*Products
	*check.Rank
	comm   *collective.Comm
	runner *matmul.Runner
	layout matrices
	kept   [][]keptMatrix // by call
	// timeout bounds a wait of a kernel for a peer.
	timeout time.Duration
}

// keptMatrix is a matrix of a call: where the call has it, and where this rank keeps its input or output.
type keptMatrix struct {
	name    string
	at      int64 // from the base of symmetric memory
	bytes   int64
	kept    cudart.DevicePtr
	fill    func(dst []byte, rank int, first int64) // of an input; nil: it is an output
	compare func(got []byte, rank int, first int64) reference.Verdict
}

// join makes the communicator and the runner.
func (m *multiplier) join() (err error) {
	info := m.Device.Info()
	if m.layout, err = m.layOut(m.World, info.SMs); err != nil {
		return err
	}
	l := &m.layout
	base, err := m.Device.Malloc(l.total)
	if err != nil {
		return err
	}
	l.name(m.Rank, base)
	peers, err := m.Share(base)
	if err != nil {
		return err
	}
	source := m.Source
	if source == nil {
		source = ptx.Source
	}
	var multicast cudart.DevicePtr
	if m.Algorithm.Multicast {
		if multicast, err = m.Multicast(peers); err != nil {
			return err
		}
	}
	m.comm, err = collective.New(collective.Config{
		Device: m.Device, Source: source, Rank: m.Number, Peers: peers, Multicast: multicast,
		SMs: info.SMs, MaxBlocks: m.MaxBlocks, PDL: m.PDL, Timeout: m.timeout,
		Areas:        map[any][]collective.PlacedArea{m.Algorithm: l.areas},
		PacketOffset: l.packets, PacketBytes: l.packetBytes, MailboxOffset: l.mailboxes, MailboxBytes: l.mailboxBytes,
		ScratchOffset: l.scratch,
	})
	if err != nil {
		return err
	}
	main, errMain := m.Device.NewStream()
	copies, errCopies := m.Device.NewStream()
	m.runner = &matmul.Runner{
		Comm: m.comm, Device: m.Device, Main: main, Copies: copies, SMs: m.blocks(info.SMs),
		LaunchesBlock: info.LaunchesBlock,
	}
	return errors.Join(errMain, errCopies)
}

// prepare makes the inputs of all calls, and loads what they launch.
func (m *multiplier) prepare() error {
	if err := m.runner.Main.Fill(m.comm.Local(m.layout.call.Counters), 0, m.layout.words); err != nil {
		return fmt.Errorf("clearing the counters: %w", err)
	}
	for number := range m.total() {
		matrices := m.matricesOf(number)
		for i := range matrices {
			if err := m.keep(&matrices[i]); err != nil {
				return err
			}
		}
		m.kept = append(m.kept, matrices)
	}
	for i := range m.Problems {
		if err := m.runner.Prepare(m.Algorithm, m.call(i*min(repeats, m.Launches))); err != nil {
			return err
		}
	}
	return m.runner.Main.Synchronize(context.Background())
}

// keep allocates memory for a matrix, and writes its input there.
func (m *multiplier) keep(x *keptMatrix) (err error) {
	if x.kept, err = m.Device.Malloc(max(x.bytes, 1)); err != nil {
		return err
	}
	m.Name(x.kept, x.bytes, x.name+" of all calls")
	if x.fill == nil {
		return nil
	}
	content := make([]byte, x.bytes)
	x.fill(content, m.Number, 0)
	return m.runner.Main.Upload(x.kept, content)
}

// call is a call of a number. Each problem is copied in another number of chunks.
func (m *multiplier) call(number int) matmul.Call {
	const mostSplits = 3
	call, problem := m.layout.call, 0
	call.Problem, problem = m.problem(number)
	call.Splits = 1
	if m.Algorithm.Chunked {
		call.Splits += (problem + 1) % mostSplits
	}
	return call
}

// matricesOf are those of a call. An input must be unchanged, so that it is compared as outputs are.
func (m *multiplier) matricesOf(number int) []keptMatrix {
	p, _ := m.problem(number)
	b, l := m.Operation.Buffers(p, m.World), m.layout.call
	in := reference.Product{
		Seed: m.Seed + uint64(number), Pattern: reference.Exact, DType: p.DType, M: p.M, N: p.N, K: p.K, World: m.World,
		Gathered: m.Operation.Gathers, Stepwise: m.Algorithm.Stepwise,
	}
	all := []keptMatrix{
		{name: "A", at: l.A, bytes: b.A, fill: in.FillA, compare: in.CompareA},
		{name: "B", at: l.B, bytes: b.B, fill: in.FillB, compare: in.CompareB},
		{name: "C", at: l.C, bytes: b.C, compare: func(got []byte, rank int, first int64) reference.Verdict {
			rows, from := m.Operation.RowsOfC(p, m.World), int64(0)
			if m.Operation.Scatters {
				from = int64(rank) * rows
			}
			v, _ := in.Judge(got, first, in.Quantities(rank, from, rows), false)
			return v
		}},
	}
	if m.Operation.Gathers {
		all = append(all, keptMatrix{
			name: "gathered A", at: l.AFull, bytes: b.AFull,
			compare: func(got []byte, _ int, first int64) reference.Verdict { return in.CompareGathered(got, first) },
		})
	}
	return all
}

// enqueue puts a call on the stream: its inputs, the call itself, and copies of all matrices.
func (m *multiplier) enqueue(number int) error {
	main := m.runner.Main
	for _, x := range m.kept[number] {
		var err error
		if x.fill == nil {
			err = main.Fill(m.comm.Local(x.at), poison, x.bytes)
		} else {
			err = main.Copy(m.comm.Local(x.at), x.kept, x.bytes)
		}
		if err != nil {
			return fmt.Errorf("preparing the matrix %s: %w", x.name, err)
		}
	}
	if err := m.runner.Enqueue(m.Algorithm, m.call(number)); err != nil {
		return err
	}
	if m.PDL {
		if err := m.runner.Enqueue(m.Algorithm, m.call(number)); err != nil {
			return err
		}
	}
	for _, x := range m.kept[number] {
		if err := main.Copy(x.kept, m.comm.Local(x.at), x.bytes); err != nil {
			return fmt.Errorf("copying the matrix %s: %w", x.name, err)
		}
	}
	return nil
}

// compare compares the matrices of all calls, which have ended.
func (m *multiplier) compare() error {
	for number, matrices := range m.kept {
		for _, x := range matrices {
			got := make([]byte, x.bytes)
			if err := m.runner.Main.Download(got, x.kept); err != nil {
				return fmt.Errorf("downloading the matrix %s: %w", x.name, err)
			}
			p, _ := m.problem(number)
			size := p.DType.Size
			m.mismatch(number, output{x.name, x.kept, x.bytes / int64(size), size}).add(m.Rank, x.compare(got, m.Number, 0))
		}
	}
	return nil
}

// mismatch describes an output of a call.
func (m *multiplier) mismatch(number int, out output) mismatch {
	return mismatch{
		cause: wrongResult, algorithm: m.Operation.Name + " " + m.Algorithm.Name, call: m.describe(number), output: out,
	}
}

// describe names a call of the run.
func (m *multiplier) describe(number int) string {
	p, _ := m.problem(number)
	return fmt.Sprintf("call %d, of %d x %d x %d", number+1, p.M, p.N, p.K)
}

// compareRestored compares the areas that calls must leave as they were with their initial values. Ranks meet before
// it, since peers write to this rank's memory.
func (m *multiplier) compareRestored() error {
	if len(m.Algorithm.Restored) == 0 {
		return nil
	}
	if err := m.Meet(); err != nil {
		return err
	}
	last := m.total() - 1
	for _, i := range m.Algorithm.Restored {
		area := m.layout.areas[i]
		got := make([]byte, area.Total())
		if err := m.runner.Main.Download(got, m.comm.Local(area.Offset)); err != nil {
			return fmt.Errorf("downloading the buffer %s: %w", area.Name, err)
		}
		want := slices.Clone(got)
		if err := m.Algorithm.Initial(m.runner, m.call(last), i, want, 0); err != nil {
			return fmt.Errorf("making the initial values of the buffer %s: %w", area.Name, err)
		}
		x := m.mismatch(last, output{area.Name, m.comm.Local(area.Offset), area.Total(), 1})
		x.cause = notRestored
		x.add(m.Rank, compareBytes(got, want))
	}
	return nil
}
