package exec

import (
	"encoding/binary"
	"fmt"
	"sync"

	"gpurun/cudart/sim/ptx"
	"gpurun/cudart/sim/simd"
)

// Program is a compiled module. It is immutable, and safe for concurrent use.
type Program struct {
	module  *ptx.Module // whose entries are not needed any more
	kernels map[string]*Kernel
	image   map[string]int64 // offset of each .global and .const variable
	size    int64
	loops   bool // ops are loops over lanes, also where there is assembly
}

// Kernel is a compiled entry point.
type Kernel struct {
	Name       string
	ParamBytes int
	Shared     int // bytes of static shared memory
	Demands

	module  string
	code    []op
	steps   []simd.Step // of the ops by assembly
	regs    int         // registers of a warp, constants included
	preds   int
	presets []preset
	async   []int32 // registers of wgmma.mma_async, in ascending order
	local   int     // bytes of local memory per thread
	dynamic int     // offset of dynamic shared memory
	// reserved is how much of the static shared memory is CUDA's.
	reserved int

	copiesShared bool // it has bulk copies from shared memory

	spare sync.Pool // *warpMemory of warps that have exited
}

// Compile compiles every entry of a module. An instruction that the executor
// does not implement is an error of type *ptx.Error that names it.
func Compile(m *ptx.Module) (*Program, error) { return compileModule(m, false) }

func compileModule(m *ptx.Module, loops bool) (*Program, error) {
	p := &Program{loops: loops, module: m, kernels: map[string]*Kernel{}, image: map[string]int64{}}
	for _, v := range m.Vars {
		if v.Space != ptx.Global && v.Space != ptx.Const {
			continue
		}
		if v.Extern {
			return nil, varError(m, v, "an extern variable has no definition to link to")
		}
		p.size = align(p.size, int64(v.Align))
		p.image[v.Name] = p.size
		p.size += v.Size
	}
	for _, e := range m.Entries {
		k, err := compileEntry(p, e)
		if err != nil {
			return nil, err
		}
		p.kernels[e.Name] = k
	}
	return p, nil
}

// Kernel finds an entry by name.
func (p *Program) Kernel(name string) (*Kernel, bool) {
	k, ok := p.kernels[name]
	return k, ok
}

// ImageSize is the number of bytes that the module's variables take.
func (p *Program) ImageSize() int64 { return p.size }

// WriteImage writes the initial values of the module's variables to data,
// which is ImageSize bytes at device address base.
func (p *Program) WriteImage(data []byte, base uint64) error {
	for _, v := range p.module.Vars {
		at, ok := p.image[v.Name]
		if !ok {
			continue
		}
		elem := int64(v.Type.Width() / 8)
		for _, d := range v.Init {
			bits := d.Bits
			if d.Symbol != "" {
				off, ok := p.image[d.Symbol]
				if !ok {
					return varError(p.module, v, fmt.Sprintf("the initialiser names %q, which is no variable of this module", d.Symbol))
				}
				bits += base + uint64(off)
			}
			var word [8]byte
			binary.LittleEndian.PutUint64(word[:], bits)
			copy(data[at:at+elem], word[:])
			at += elem
		}
	}
	return nil
}

func varError(m *ptx.Module, v *ptx.Var, reason string) error {
	return &ptx.Error{Module: m.Name, Line: v.Line, Text: v.Name, Reason: reason}
}

func align(n, to int64) int64 { return (n + to - 1) / to * to }
