package inspect

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Machine code. A cubin is an ELF file for the machine EM_CUDA. A fatbin is a header and a list of cubins
// and PTX, each for an architecture; nvcc puts it into the section .nv_fatbin of a host object.

const (
	machineCUDA = elf.Machine(190) // EM_CUDA
	entrySymbol = 0x10             // in st_other: STO_CUDA_ENTRY, of kernels
	fatbinMagic = 0xba55ed50
)

// gpuOnly is why the simulator cannot run machine code.
const gpuOnly = "machine code runs on GPUs only; the simulator needs PTX (nvcc -ptx)"

// KindOf tells GPU code from its first bytes: "elf", "fatbin", or else "ptx".
func KindOf(data []byte) string {
	switch {
	case bytes.HasPrefix(data, []byte(elf.ELFMAG)):
		return "elf"
	case len(data) >= 4 && binary.LittleEndian.Uint32(data) == fatbinMagic:
		return "fatbin"
	}
	return "ptx"
}

func describeBinary(in Input, kind string) File {
	f := File{Name: in.Name, Kind: kind, Kernels: []Kernel{}}
	var err error
	if kind == "fatbin" {
		err = f.addFatbins(in.Data)
	} else {
		err = f.addELF(in.Data)
	}
	if err != nil {
		f.Kind, f.Error = "", fmt.Sprintf("%s: %v", in.Name, err)
	}
	return f
}

// addELF adds the kernels of a cubin, or those of the fatbins in a host object.
func (f *File) addELF(data []byte) error {
	e, err := elf.NewFile(bytes.NewReader(data))
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("a broken ELF file: it is cut short; copy or compile it again")
	}
	if err != nil {
		return fmt.Errorf("a broken ELF file: %w", err)
	}
	if e.Machine == machineCUDA {
		f.Kind = "cubin"
		return f.addCubin(e, "")
	}
	section := e.Section(".nv_fatbin")
	if section == nil {
		return errors.New("an ELF file without GPU code: neither a cubin nor a host object with .nv_fatbin")
	}
	f.Kind = "host"
	fatbins, err := section.Data()
	if err != nil {
		return fmt.Errorf("reading .nv_fatbin: %w", err)
	}
	return f.addFatbins(fatbins)
}

// addCubin adds the kernels that the symbol table of a cubin marks as entries.
func (f *File) addCubin(e *elf.File, target string) error {
	symbols, err := e.Symbols()
	if err != nil {
		return fmt.Errorf("reading the symbols of a cubin: %w", err)
	}
	for _, s := range symbols {
		if elf.ST_TYPE(s.Info) != elf.STT_FUNC || s.Other&entrySymbol == 0 {
			continue
		}
		k := Kernel{Name: s.Name, Target: target, Refusal: &Refusal{Reason: gpuOnly}}
		if shared := e.Section(".nv.shared." + s.Name); shared != nil {
			k.Shared = int(shared.Size)
		}
		f.Kernels = append(f.Kernels, k)
	}
	return nil
}

// fatbinHeader begins a fatbin, and entryHeader each of its entries.
type fatbinHeader struct {
	Magic           uint32
	Version, Header uint16
	Bytes           uint64 // behind the header
}

type entryHeader struct {
	Kind, _          uint16
	Header           uint32 // bytes, these included
	Bytes            uint64 // behind the header
	Compressed       uint32 // bytes; 0 if the entry is not compressed
	_                uint32
	Minor, Major     uint16
	Arch             uint32
	_, _             uint32
	Flags, _, Actual uint64
}

// Kinds of entries.
const (
	entryPTX = 1
	entryELF = 2
)

// addFatbins adds what one fatbin after the other holds, with zeros between them.
func (f *File) addFatbins(data []byte) error {
	for {
		data = bytes.TrimLeft(data, "\x00")
		if len(data) == 0 {
			return nil
		}
		var h fatbinHeader
		n, err := binary.Decode(data, binary.LittleEndian, &h)
		if err != nil || h.Magic != fatbinMagic || int(h.Header) < n || uint64(len(data)) < uint64(h.Header) ||
			h.Bytes > uint64(len(data))-uint64(h.Header) {
			return errors.New("a broken fatbin: its header does not fit its size")
		}
		end := uint64(h.Header) + h.Bytes
		if err := f.addEntries(data[h.Header:end]); err != nil {
			return err
		}
		data = data[end:]
	}
}

// addEntries adds the entries of a fatbin.
func (f *File) addEntries(data []byte) error {
	for len(data) > 0 {
		var h entryHeader
		n, err := binary.Decode(data, binary.LittleEndian, &h)
		if err != nil || int64(h.Header) < int64(n) || uint64(len(data)) < uint64(h.Header) ||
			h.Bytes > uint64(len(data))-uint64(h.Header) {
			return errors.New("a broken fatbin: an entry does not fit its size")
		}
		body := data[h.Header : uint64(h.Header)+h.Bytes]
		if err := f.addEntry(h, body); err != nil {
			return err
		}
		data = data[uint64(h.Header)+h.Bytes:]
	}
	return nil
}

func (f *File) addEntry(h entryHeader, body []byte) error {
	target := fmt.Sprintf("sm_%d", h.Arch)
	switch {
	case h.Compressed != 0:
		what := map[uint16]string{entryPTX: "PTX", entryELF: "machine code"}[h.Kind]
		f.Notes = append(f.Notes, fmt.Sprintf("the %s for %s is compressed; cuobjdump -xelf all -xptx all unpacks it", what,
			target))
	case h.Kind == entryPTX && KindOf(body) != "ptx": // not described: fatbins could be nested without end
		return fmt.Errorf("a broken fatbin: the PTX for %s is machine code", target)
	case h.Kind == entryPTX:
		inner := describe(Input{f.Name, bytes.TrimRight(body, "\x00")})
		if inner.Error != "" {
			return fmt.Errorf("the PTX for %s: %s", target, inner.Error)
		}
		for _, k := range inner.Kernels {
			k.Target = "PTX for " + strings.TrimSpace(inner.Target)
			f.Kernels = append(f.Kernels, k)
		}
	case h.Kind == entryELF:
		e, err := elf.NewFile(bytes.NewReader(body))
		if err != nil {
			return fmt.Errorf("the machine code for %s: %w", target, err)
		}
		return f.addCubin(e, target)
	}
	return nil
}
