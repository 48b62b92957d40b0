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

// Extend returns a collective with the algorithms of those kernel files that are for it, behind its own. Their names are the
// paths of the files.
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

// New makes an algorithm of a kernel file for a collective of a shape.
func New(f *kernelfile.File, b *kernelfile.Bundle, shape collective.Shape) *collective.Algorithm {
	a := &collective.Algorithm{
		Collective: f.Collective,
		Name:       f.Path,
		File:       f.Path,
		Summary:    summary(f),
		Kernels:    kernels(f, b, shape),
		Others:     barrier.FlagKernels(),
		MaxRanks:   collective.MaxRanks,
		Stepwise:   f.Contract.Stepwise,
		Ordered:    f.Contract.Order == "rank",
		Guarded:    true,
		Needs: collective.Needs{
			Peers: true, SeparateOutput: f.Contract.InPlace == "no", FreshArguments: f.DependsOnCall(),
			Multicast: f.UsesMulticast(), GPU: !allPTX(b), Unbounded: true,
		},
	}
	if d, ok := collective.ParseDType(f.Contract.Accumulate); ok {
		a.Accumulator = &d
	}
	u := &user{file: f, bundle: b, shape: shape, algorithm: a}
	a.Areas, a.Accepts, a.Prepare, a.Enqueue = u.areas, u.accepts, u.prepare, u.enqueue
	return a
}

// user is a kernel file as an algorithm. Ranks of one process share it.
type user struct {
	file      *kernelfile.File
	bundle    *kernelfile.Bundle
	shape     collective.Shape
	algorithm *collective.Algorithm
}

func summary(f *kernelfile.File) string {
	if f.Summary != "" {
		return f.Summary
	}
	return "the kernel file " + filepath.Base(f.Path)
}

// kernels lists the calls that the file is for. The module and the entry of each are only names: the file says for each
// rank what is loaded.
func kernels(f *kernelfile.File, b *kernelfile.Bundle, shape collective.Shape) []collective.Kernel {
	ops := []collective.Op{collective.None}
	if shape.Reduces {
		ops = nil
		for _, op := range f.Ops {
			ops = append(ops, collective.Op(op))
		}
	}
	worlds := f.World
	if len(worlds) == 0 {
		worlds = []int{0}
	}
	module := collective.Module{Name: f.Path, Arch: arch(b)}
	var all []collective.Kernel
	for _, name := range f.Types {
		d, ok := collective.ParseDType(name)
		if !ok {
			continue // Parse has checked the names
		}
		for _, op := range ops {
			for _, world := range worlds {
				all = append(all, collective.Kernel{Module: module, Entry: f.Name, DType: d, Op: op, World: world})
			}
		}
	}
	return all
}

// arch is the newest architecture that a module of the file is for.
func arch(b *kernelfile.Bundle) collective.Arch {
	newest := collective.SM80
	for _, m := range b.Modules {
		if m.SM > newest.SM || m.SM == newest.SM && m.Specific {
			newest = collective.Arch{SM: m.SM, Specific: m.Specific}
		}
	}
	return newest
}

func allPTX(b *kernelfile.Bundle) bool {
	for _, m := range b.Modules {
		if !m.PTX {
			return false
		}
	}
	return true
}

// areas lists the buffers of the file: each has room for all the copies that calls use in turn.
func (u *user) areas(world, sms int, call collective.Call) ([]collective.Area, error) {
	var all []collective.Area
	sizes, err := u.file.Sizes(u.values(call, place{world: world, sms: sms}))
	if err != nil {
		return nil, err
	}
	for i, b := range u.file.Buffers {
		if isCall(b.Name) {
			continue
		}
		area := collective.Area{Name: b.Name}
		if !b.Host {
			area.Bytes = roundUp(sizes[i]) * copies(b)
		}
		all = append(all, area)
	}
	return all, nil
}

// isCall reports whether a buffer is the collective's own input or output.
func isCall(name string) bool { return name == "input" || name == "output" }

// copies is how many copies of a buffer calls use in turn.
func copies(b kernelfile.Buffer) int64 { return int64(max(b.Rotate, 1)) }

// alignment of buffers, as cudaMalloc's.
const alignment = 256

func roundUp(bytes int64) int64 { return (bytes + alignment - 1) / alignment * alignment }

func (u *user) accepts(world int, call collective.Call) error {
	return u.file.Accepts(u.values(call, place{world: world}))
}

// place is what an expression knows of where it is evaluated.
type place struct {
	rank, world, sms, maxBlocks int
	timeoutNS, number           int64
}

// values are what the expressions of the file are evaluated over.
func (u *user) values(call collective.Call, at place) kernelfile.Call {
	return kernelfile.Call{
		Rank: at.rank, World: at.world, Root: call.Root,
		Type: call.DType.Name, Op: string(call.Op), ElementBytes: int64(call.DType.Size), Count: call.Count,
		InPlace: call.InPlace, SMs: at.sms, Number: at.number, TimeoutNS: at.timeoutNS,
		Blocks: call.Blocks, MaxBlocks: at.maxBlocks,
	}
}

// enqueue puts one call on the stream.
func (u *user) enqueue(c *collective.Comm, s cudart.Stream, call collective.Call) error {
	if call.Count == 0 {
		return nil
	}
	if err := c.Admit(u.algorithm, call); err != nil {
		return err
	}
	st := u.state(c)
	bound, err := st.bind(s, call)
	if err != nil {
		return fmt.Errorf("%s %s: %w", u.file.Collective, u.file.Path, err)
	}
	if err := st.reset(s, call); err != nil {
		return err
	}
	for i := range bound.steps {
		if err := st.run(s, call, &bound.steps[i]); err != nil {
			return err
		}
	}
	st.number++
	return nil
}
