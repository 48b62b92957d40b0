package exec

import (
	"encoding/binary"
	"fmt"

	"gpurun/cudart/sim/ptx"
)

// The image is the module's variables in device memory, .global and .const. All kernels share it.

// placeVariables gives every variable its place in the image.
func (p *Program) placeVariables() error {
	var constants int64
	for _, v := range p.module.Vars {
		if !inImage(v) {
			continue
		}
		if _, twice := p.image[v.Name]; twice {
			return varError(p.module, v, "the variable is defined twice")
		}
		p.size = align(p.size, int64(v.Align))
		p.image[v.Name] = p.size
		p.size += v.Size
		if v.Space == ptx.Const {
			constants += v.Size
		}
		if constants > maxConst {
			return varError(p.module, v, fmt.Sprintf("the .const variables take more than %d bytes", maxConst))
		}
	}
	for _, v := range p.module.Vars {
		for _, r := range v.Refs {
			if _, ok := p.symbol(r.Symbol, 0, 0); !ok {
				return varError(p.module, v,
					fmt.Sprintf("the initializer names %q, which is no variable or function of this module", r.Symbol))
			}
		}
	}
	return nil
}

func inImage(v *ptx.Var) bool {
	return (v.Space == ptx.Global || v.Space == ptx.Const) && !v.Extern && v.Opaque == ""
}

// symbol is the address of a variable or a function, with the image and the functions at those addresses.
func (p *Program) symbol(name string, image, functions uint64) (uint64, bool) {
	if at, ok := p.image[name]; ok {
		return image + uint64(at), true
	}
	if f, ok := p.module.Function(name); ok {
		return functions + functionOffset(f), true
	}
	return 0, false
}

// FunctionsAddress is where the functions of the module are that a device loads as its n-th. No access to memory finds
// anything there. Addresses are used again after 2^20 modules.
func FunctionsAddress(n int) uint64 { return codeWindow + uint64(n)%(1<<20)<<functionsShift }

// functionsShift is such that maxFunctions of package ptx fit in.
const functionsShift = 20

// functionOffset is what a pointer to a function holds, less the module's FunctionsAddress: the same in all kernels of
// the module.
func functionOffset(f *ptx.Function) uint64 { return uint64(f.Number+1) << 4 }

// ImageSize is the number of bytes that the module's variables take.
func (p *Program) ImageSize() int64 { return p.size }

// Variable finds a .global or .const variable: its offset in the image, and its size in bytes.
func (p *Program) Variable(name string) (offset, size int64, ok bool) {
	for _, v := range p.module.Vars {
		if v.Name == name && inImage(v) {
			return p.image[name], v.Size, true
		}
	}
	return 0, 0, false
}

// WriteImage writes the initial values of the module's variables to data,
// which is ImageSize bytes at device address image. The functions are at a FunctionsAddress.
func (p *Program) WriteImage(data []byte, image, functions uint64) {
	for _, v := range p.module.Vars {
		if !inImage(v) {
			continue
		}
		at := data[p.image[v.Name]:]
		copy(at, v.Init)
		for _, r := range v.Refs {
			addr, _ := p.symbol(r.Symbol, image, functions)
			var word [8]byte
			binary.LittleEndian.PutUint64(word[:], (addr+uint64(r.Addend))>>r.Shift)
			copy(at[r.Offset:], word[:r.Bytes])
		}
	}
}

func varError(m *ptx.Module, v *ptx.Var, reason string) error {
	return &ptx.Error{Module: m.Name, Line: v.Line, Text: v.Name, Reason: reason}
}
