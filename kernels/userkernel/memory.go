package userkernel

import (
	"fmt"

	"gpurun/cudart"
	"gpurun/kernels/kernelfile"
)

// memory gives the addresses of a call to the expressions of a file.
type memory struct {
	*state
	stream cudart.Stream
	target target
}

var _ kernelfile.Memory = (*memory)(nil)

// Address is where a rank's buffer begins.
func (m *memory) Address(name string, rank int) (uint64, error) {
	if host, ok := m.hosts[name]; ok {
		return uint64(host.DevicePtr()), nil // Bind refuses that of a peer
	}
	at, err := m.offset(name, rank)
	return uint64(m.comm.Peer(rank, at)), err
}

// Multicast is the multicast address of a buffer, which has the same offset on all ranks.
func (m *memory) Multicast(name string) (uint64, error) {
	at, err := m.offset(name, m.comm.Rank())
	if err != nil {
		return 0, err
	}
	p := m.comm.Multicast(at)
	if p == 0 {
		return 0, fmt.Errorf("the memory has no multicast address")
	}
	return uint64(p), nil
}

// offset is where a rank's buffer begins, in bytes from the base of its symmetric memory. Of a buffer that rotates it
// is the copy of the next call.
func (m *memory) offset(name string, rank int) (int64, error) {
	if at, ok := m.target.offset(name, rank); ok {
		return at, nil
	}
	for i := range m.file.Buffers {
		if b := &m.file.Buffers[i]; b.Name == name {
			return m.copyOf(b), nil
		}
	}
	return 0, fmt.Errorf("there is no buffer %s", name)
}

// copyOf is the offset of the copy of a buffer that the next call uses.
func (st *state) copyOf(b *kernelfile.Buffer) int64 { return st.copyAt(b, st.turn(b)) }

// copyAt is the offset of a copy of a buffer. A copy is as long as the largest call of the job needs it.
func (st *state) copyAt(b *kernelfile.Buffer, number int) int64 {
	area := st.areas[b.Name]
	return area.Offset + int64(number)*area.Step()
}

// turn is the number of the copy of a buffer that the next call uses.
func (st *state) turn(b *kernelfile.Buffer) int { return int(st.number % copies(b)) }

// Table keeps one copy of each content in device memory, which is freed with the device.
func (m *memory) Table(content []byte) (uint64, error) {
	if p, ok := m.tables[string(content)]; ok {
		return uint64(p), nil
	}
	p, err := m.comm.Device().Malloc(int64(len(content)))
	if err != nil {
		return 0, fmt.Errorf("allocating a table of %d bytes: %w", len(content), err)
	}
	if err := m.stream.Upload(p, content); err != nil {
		return 0, fmt.Errorf("uploading a table: %w", err)
	}
	m.tables[string(content)] = p
	return uint64(p), nil
}

// TensorMap encodes a tensor map for this rank's device.
func (m *memory) TensorMap(t cudart.TensorMap) ([cudart.TensorMapBytes]byte, error) {
	return m.comm.Device().EncodeTensorMap(t)
}
