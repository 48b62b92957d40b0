package userkernel

import (
	"fmt"

	"gpurun/cudart"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
)

// memory gives the addresses of a call to the expressions of a file.
type memory struct {
	*state
	stream cudart.Stream
	call   collective.Call
}

// Address is where a rank's buffer begins. The input and the output of peers lie where the call has them.
func (m *memory) Address(name string, rank int) (uint64, error) {
	at, err := m.offset(name, rank)
	if err != nil {
		return 0, err
	}
	if host, ok := m.hosts[name]; ok {
		if rank != m.comm.Rank() {
			return 0, fmt.Errorf("the buffer %s is memory of the host, which peers cannot reach", name)
		}
		return uint64(host.DevicePtr()), nil
	}
	return uint64(m.comm.Peer(rank, at)), nil
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

// offset is where a rank's buffer begins, in bytes from the base of its symmetric memory. Of a buffer that rotates it is
// the copy of the next call.
func (m *memory) offset(name string, rank int) (int64, error) {
	peer := int64(rank - m.comm.Rank())
	switch name {
	case "input":
		return m.call.Send + peer*m.call.SendStep, nil
	case "output":
		if m.call.InPlace && m.shape.Send == collective.PartPerRank {
			return m.call.Recv + peer*m.call.Bytes(), nil
		}
		return m.call.Recv, nil
	}
	for _, b := range m.file.Buffers {
		if b.Name != name {
			continue
		}
		if b.Private && peer != 0 {
			return 0, fmt.Errorf("the buffer %s is private: peers have no address of it", name)
		}
		area, n := m.areas[name], copies(b)
		return area.Offset + m.number%n*(area.Bytes/n), nil
	}
	return 0, fmt.Errorf("there is no buffer %s", name)
}

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

var _ kernelfile.Memory = (*memory)(nil)
