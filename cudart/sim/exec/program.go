package exec

import (
	"cmp"
	"errors"
	"slices"
	"sync"

	"gpurun/cudart/sim/ptx"
	"gpurun/cudart/sim/simd"
)

// Program is a module whose kernels are compiled when they are asked for. It is safe for concurrent
// use.
type Program struct {
	module  *ptx.Module
	kernels map[string]func() (*Kernel, error) // each compiles once
	image   map[string]int64                   // offset of each .global and .const variable
	size    int64
	// addressed are the functions whose address is taken, by number: those that indirect calls may find.
	addressed []*ptx.Function
	loops     bool // ops are loops over lanes, also where there is assembly
	opcodes   map[string]instruction
	observed  bool // its kernels tell an Observer what they do
}

// Kernel is a compiled entry point.
type Kernel struct {
	Name       string
	ParamBytes int
	Shared     int // bytes of static shared memory
	Demands

	module     string
	program    *Program
	units      []*unit // in the order of their code
	code       []op
	steps      []simd.Step // of the ops by assembly, at the places of the ops
	regs       int         // registers of a warp, constants included
	preds      int
	presets    []preset
	async      []int32 // registers of wgmma.mma_async, in ascending order
	frame      int     // bytes of local memory that the kernel itself takes, per thread
	local      int     // and with the functions that it calls
	frameAlign int64   // alignment of a call's frame, in bytes
	dynamic    int     // offset of dynamic shared memory
	// reserved is how much of the static shared memory is CUDA's.
	reserved int

	copiesShared bool // it has bulk copies from shared memory
	usesHeap     bool // it calls malloc or free
	// usesTensorCores: it has tcgen05.mma or cp, which read shared memory through the async proxy.
	usesTensorCores bool

	spare    sync.Pool // *warpMemory of warps that have exited
	followed followedLoads
}

// maxConst is how much constant memory a module may have (CUDA programming guide, "Technical
// Specifications per Compute Capability").
const maxConst = 64 << 10

// ErrNoKernel is what Program.Kernel returns for a name that no entry has.
var ErrNoKernel = errors.New("the module has no such kernel")

// Load places the variables of a module. Its kernels are not compiled yet.
func Load(m *ptx.Module) (*Program, error) {
	p := &Program{module: m, kernels: map[string]func() (*Kernel, error){}, image: map[string]int64{}, opcodes: opcodes()}
	if err := p.placeVariables(); err != nil {
		return nil, err
	}
	for name := range m.Addressed {
		if f, ok := m.Function(name); ok && f.Defined {
			p.addressed = append(p.addressed, f)
		}
	}
	slices.SortFunc(p.addressed, func(a, b *ptx.Function) int { return cmp.Compare(a.Number, b.Number) })
	for _, e := range m.Entries {
		p.kernels[e.Name] = sync.OnceValues(func() (*Kernel, error) { return compileEntry(p, e) })
	}
	return p, nil
}

// Kernel compiles an entry, when it is asked for the first time. The error is ErrNoKernel, or
// a *ptx.Error that names an instruction which the executor does not implement.
func (p *Program) Kernel(name string) (*Kernel, error) {
	compiled, ok := p.kernels[name]
	if !ok {
		return nil, ErrNoKernel
	}
	return compiled()
}

// Check compiles a kernel and forgets it: the error is that of Kernel.
func (p *Program) Check(e *ptx.Entry) error {
	_, err := compileEntry(p, e)
	return err
}

// UsesHeap reports whether the kernel calls malloc or free: a launch then needs Config.Heap.
func (k *Kernel) UsesHeap() bool { return k.usesHeap }

func align(n, to int64) int64 { return (n + to - 1) / to * to }
