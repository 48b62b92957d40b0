package userkernel

import (
	"fmt"
	"path/filepath"
	"slices"

	"gpurun/cudart"
	"gpurun/kernels/barrier"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
)

// Extend returns a collective with the algorithms of those kernel files that are for it, behind its own. Their names
// are the paths of the files.
func Extend(c *collective.Collective, bundles []*kernelfile.Bundle) (*collective.Collective, error) {
	extended := *c
	extended.Algorithms = slices.Clone(c.Algorithms)
	for _, b := range bundles {
		f, err := kernelfile.Parse(b.Path, b.Text)
		if err != nil {
			return nil, err
		}
		if f.Collective == c.Name {
			extended.Algorithms = append(extended.Algorithms, New(f, b, c.Shape))
		}
	}
	return &extended, nil
}

// algorithm is a kernel file for a collective.
type algorithm struct {
	user
	*collective.Algorithm
	shape collective.Shape
}

// New makes an algorithm of a kernel file for a collective of a shape.
func New(f *kernelfile.File, b *kernelfile.Bundle, shape collective.Shape) *collective.Algorithm {
	a := &algorithm{user: user{file: f, bundle: b}, shape: shape}
	a.Algorithm = &collective.Algorithm{
		Collective: f.Collective,
		Name:       f.Path,
		File:       f.Path,
		Summary:    summary(f),
		Kernels:    a.kernels(),
		Others:     barrier.FlagKernels(),
		MaxRanks:   collective.MaxRanks,
		Stepwise:   f.Contract.Stepwise,
		Ordered:    f.Contract.Order == "rank",
		Needs: collective.Needs{
			Peers: true, SeparateOutput: f.Contract.InPlace == "no", OneBuffer: f.Contract.InPlace == "only",
			FreshArguments: changes(f),
			Multicast:      f.UsesMulticast(), GPU: a.forGPUs(), Unbounded: true,
		},
		BeginsEarly: f.BeginsEarly(),

		Areas:    a.areas,
		Accepts:  a.accepts,
		Multiple: a.multiple,
		Prepare:  a.prepare,
		Enqueue:  a.enqueue,
		Record:   a.record,
	}
	a.user.algorithm = a.Algorithm
	if d, ok := collective.ParseDType(f.Contract.Accumulate); ok {
		a.Accumulator = &d
	}
	a.Restored = a.restoredAreas()
	a.Initial = func(c *collective.Comm, call collective.Call, area int, dst []byte, at int64) error {
		return a.state(c).initial(a.target(c, call), area, dst, at)
	}
	if f.Collective == kernelfile.Custom {
		a.Custom, a.Needs.SeparateOutput = newCustom(a), true
		a.BeginsEarly = a.BeginsEarly && repeats(f)
	}
	return a.Algorithm
}

func summary(f *kernelfile.File) string {
	if f.Summary != "" {
		return f.Summary
	}
	return "the kernel file " + filepath.Base(f.Path)
}

// changes reports whether anything that a graph would keep changes from call to call. The calls that a graph replays
// have no numbers, which a reference kernel may need.
func changes(f *kernelfile.File) bool {
	return f.DependsOnCall() || f.HasPatches() || f.ReferenceDependsOnCall()
}

// repeats reports whether a call of a Custom file may be made twice with the same inputs and outputs: these stay where
// they are, and the reference does not count calls.
func repeats(f *kernelfile.File) bool {
	return !f.ReferenceDependsOnCall() && !slices.ContainsFunc(f.Buffers, func(b kernelfile.Buffer) bool {
		return b.Role != kernelfile.Scratch && b.Rotate > 1
	})
}

// kernels lists the calls that the file is for. Module and entry are names only: the file says for each rank what is
// loaded.
func (a *algorithm) kernels() []collective.Kernel {
	ops := []collective.Op{collective.None}
	if a.shape.Reduces {
		ops = nil
		for _, op := range a.file.Ops {
			ops = append(ops, collective.Op(op))
		}
	}
	worlds := a.file.World
	if len(worlds) == 0 {
		worlds = []int{0}
	}
	module := collective.Module{Name: a.file.Path, Arch: a.newest()}
	var all []collective.Kernel
	for _, name := range a.file.ElementTypes() {
		d, ok := collective.ParseDType(name)
		if !ok {
			continue // Parse has checked the names
		}
		for _, op := range ops {
			for _, world := range worlds {
				all = append(all, collective.Kernel{Module: module, Entry: a.file.Name, DType: d, Op: op, World: world})
			}
		}
	}
	return all
}

func (a *algorithm) areas(world, sms int, call collective.Call) ([]collective.Area, error) {
	values := a.values(call, world)
	values.SMs = sms
	return a.user.areas(values)
}

func (a *algorithm) accepts(world int, call collective.Call) error {
	values := a.values(call, world)
	if err := a.file.Accepts(values); err != nil {
		return err
	}
	if call.Blocks > 0 && !a.file.TakesBlocks() {
		return fmt.Errorf("%s: the grid of %s is that of the file: write it as an expression with blocks", a.file.Path,
			a.file.Name)
	}
	r, err := a.file.Requirements(values)
	if err != nil {
		return err
	}
	if err := a.checkAligned(call); err != nil {
		return err
	}
	if over := max(call.Send%r.Alignment, call.Recv%r.Alignment); over != 0 && a.file.Collective != kernelfile.Custom {
		return fmt.Errorf("%s:%d: %s takes an input and an output at multiples of %d bytes, not %d bytes behind one",
			a.file.Path, a.file.Contract.Alignment.Line, a.file.Name, r.Alignment, over)
	}
	return nil
}

// multiple is what the contract says that counts are multiples of. Where it cannot be computed, accepts says why.
func (a *algorithm) multiple(world int, call collective.Call) int64 {
	r, err := a.file.Requirements(a.values(call, world))
	if err != nil {
		return 1
	}
	return r.CountMultiple
}

// checkAligned refuses a call whose input or output lies otherwise than the file's entry of that buffer asks for.
func (a *algorithm) checkAligned(call collective.Call) error {
	for _, b := range a.file.Buffers {
		at, ok := map[string]int64{"input": call.Send, "output": call.Recv}[b.Name]
		if ok && b.Size.IsZero() && b.Align > 0 && at%b.Align != 0 {
			return fmt.Errorf("%s:%d: %s takes its %s at multiples of %d bytes, not %d bytes behind one", a.file.Path, b.Line,
				a.file.Name, b.Name, b.Align, at%b.Align)
		}
	}
	return nil
}

// values are what the expressions of the file are evaluated over, but for what a rank knows.
func (a *algorithm) values(call collective.Call, world int) kernelfile.Call {
	return kernelfile.Call{
		World: world, Root: call.Root,
		Type: call.DType.Name, Op: string(call.Op), ElementBytes: int64(call.DType.Size), Count: call.Count,
		InPlace: call.InPlace || a.Needs.OneBuffer, Blocks: call.Blocks,
		InputBytes: call.Bytes() * a.shape.Send.Of(world), OutputBytes: call.Bytes() * a.shape.Recv.Of(world),
	}
}

// callKey is what the expressions of a file can tell calls apart by.
type callKey struct {
	send, recv, sendStep, count int64
	dtype                       string
	op                          collective.Op
	root, blocks                int
}

// target binds the file to a call of a rank. The input and the output of peers lie where the call has them.
func (a *algorithm) target(c *collective.Comm, call collective.Call) target {
	return target{
		key: callKey{
			call.Send, call.Recv, call.SendStep, call.Count, call.DType.Name, call.Op, call.Root, call.Blocks,
		},
		values: a.values(call, c.World()),
		offset: func(name string, rank int) (int64, bool) {
			peer := int64(rank - c.Rank())
			switch {
			case name == "input":
				return call.Send + peer*call.SendStep, true
			case name == "output" && call.InPlace && a.shape.Send == collective.PartPerRank:
				return call.Recv + peer*call.Bytes(), true
			case name == "output":
				return call.Recv, true
			}
			return 0, false
		},
	}
}

// prepare loads the kernels of a call, makes its tables, and at first writes what the areas hold. The ranks meet before
// the first call: a peer must not signal before that.
func (a *algorithm) prepare(c *collective.Comm, s cudart.Stream, call collective.Call) error {
	return describe(a.Collective, a.Name, a.state(c).prepare(s, a.target(c, call), call.Count > 0))
}

// enqueue puts one call on the stream.
func (a *algorithm) enqueue(c *collective.Comm, s cudart.Stream, call collective.Call) error {
	return a.record(c, s, call, nil)
}

// record is enqueue with the times of the steps.
func (a *algorithm) record(c *collective.Comm, s cudart.Stream, call collective.Call,
	to *collective.StepRecorder,
) error {
	if call.Count == 0 {
		return nil
	}
	if err := c.Admit(a.Algorithm, call); err != nil {
		return err
	}
	return describe(a.Collective, a.Name, a.state(c).enqueue(s, a.target(c, call), to))
}

// describe names the algorithm in an error, if there is one.
func describe(collective, name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s %s: %w", collective, name, err)
}
