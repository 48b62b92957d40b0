package kernelfile

import (
	"fmt"
	"slices"

	"gpurun/cudart"
)

// MadeUp is a [Memory] of addresses that no device has. With it a call can be bound where there is none: to check it,
// or to show it. Rank r's memory begins at (r+1) << 40; buffers have the same offsets on all ranks, as in symmetric
// memory.
type MadeUp struct {
	file    *File
	call    Call
	offsets map[string]int64
	steps   map[string]int64 // from copy to copy, of buffers that rotate
	tables  [][]byte
	// Spaces has the bytes of each buffer, those that gpurun gives each call first.
	Spaces []Space
}

// Space is a buffer's place in made-up memory.
type Space struct {
	Buffer string
	Offset int64 // from the beginning of the rank's memory
	Bytes  int64
}

const (
	madeUpBits      = 40                 // of the memory of one rank
	madeUpMulticast = uint64(0x80) << 40 // behind that of the largest number of ranks
	madeUpTables    = uint64(0x90) << 40
	madeUpAlign     = 256
)

// NewMadeUp places the buffers of a call of one rank. In place, the output begins where the input does.
func (f *File) NewMadeUp(call Call) (*MadeUp, error) {
	m := &MadeUp{file: f, call: call, offsets: map[string]int64{}, steps: map[string]int64{}}
	sizes, err := f.Sizes(call)
	if err != nil {
		return nil, err
	}
	at := int64(0)
	place := func(name string, bytes, align int64) {
		at = (at + align - 1) / align * align
		m.offsets[name] = at
		m.Spaces = append(m.Spaces, Space{name, at, bytes})
		at += bytes
	}
	for _, name := range ownBuffers(f.Collective) {
		if name == outputName && call.InPlace {
			m.offsets[outputName] = m.offsets[inputName]
			m.Spaces = append(m.Spaces, Space{outputName, m.offsets[inputName], call.OutputBytes})
			at = max(at, m.offsets[inputName]+call.OutputBytes)
			continue
		}
		place(name, call.ownBytes(name), madeUpAlign)
	}
	for i, b := range f.Buffers {
		if _, placed := m.offsets[b.Name]; placed {
			continue
		}
		bytes := sizes[i]
		if copies := int64(max(b.Rotate, 1)); bytes > (1<<madeUpBits-1-at)/copies-madeUpAlign {
			return nil, f.errorAt(b.Line, "buffer %s of %d bytes, in %d copies, is too large", b.Name, bytes, copies)
		}
		copies := int64(max(b.Rotate, 1))
		m.steps[b.Name] = (bytes + madeUpAlign - 1) / madeUpAlign * madeUpAlign
		place(b.Name, m.steps[b.Name]*(copies-1)+bytes, max(b.Align, madeUpAlign))
	}
	return m, nil
}

// Address is where a rank's buffer begins. Of a buffer that rotates it is the copy of this call.
func (m *MadeUp) Address(buffer string, rank int) (uint64, error) {
	offset, ok := m.offsets[buffer]
	if !ok {
		return 0, fmt.Errorf("there is no buffer %s", buffer)
	}
	if b := m.file.buffer(buffer); b != nil && b.Rotate > 1 {
		offset += m.call.Number % int64(b.Rotate) * m.steps[buffer]
	}
	return uint64(rank+1)<<madeUpBits + uint64(offset), nil
}

// Multicast is the multicast address of a buffer.
func (m *MadeUp) Multicast(buffer string) (uint64, error) {
	at, err := m.Address(buffer, 0)
	return madeUpMulticast + at - 1<<madeUpBits, err
}

// Table gives each content an address of its own.
func (m *MadeUp) Table(content []byte) (uint64, error) {
	at := madeUpTables
	for _, t := range m.tables {
		if slices.Equal(t, content) {
			return at, nil
		}
		at += uint64(len(t)+madeUpAlign-1) / madeUpAlign * madeUpAlign
	}
	m.tables = append(m.tables, slices.Clone(content))
	return at, nil
}

// Content is what a table holds, by the address that Table gave; nil: there is none.
func (m *MadeUp) Content(address uint64) []byte {
	at := madeUpTables
	for _, t := range m.tables {
		if at == address {
			return t
		}
		at += uint64(len(t)+madeUpAlign-1) / madeUpAlign * madeUpAlign
	}
	return nil
}

// TensorMap checks a tensor map. Its bytes are zero: only a device encodes one.
func (m *MadeUp) TensorMap(t cudart.TensorMap) (none [cudart.TensorMapBytes]byte, err error) {
	return none, t.Check()
}

var _ Memory = (*MadeUp)(nil)
