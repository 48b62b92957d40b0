package examples

import (
	"errors"
	"fmt"

	"gpurun/cudart"
)

// Address makes a member the memory of its call.
func (m *member) Address(name string, rank int) (uint64, error) {
	turns := 1
	for _, b := range m.file.Buffers {
		if b.Name == name {
			turns = max(b.Rotate, 1)
		}
	}
	of := m.buffers[copyName(name, m.number%turns)]
	if rank >= len(of) {
		return 0, fmt.Errorf("rank %d has no buffer %s", rank, name)
	}
	return uint64(of[rank]), nil
}

// Multicast is documented with kernelfile.Memory.
func (m *member) Multicast(string) (uint64, error) { return 0, errors.ErrUnsupported }

// Table is documented with kernelfile.Memory.
func (m *member) Table(content []byte) (uint64, error) {
	p, err := m.upload(content)
	return uint64(p), err
}

// upload allocates private memory with a content.
func (m *member) upload(content []byte) (cudart.DevicePtr, error) {
	p, err := m.device.Malloc(int64(len(content)))
	if err != nil {
		return 0, err
	}
	return p, m.stream.Upload(p, content)
}

// TensorMap is documented with kernelfile.Memory.
func (m *member) TensorMap(t cudart.TensorMap) ([cudart.TensorMapBytes]byte, error) {
	return m.device.EncodeTensorMap(t)
}
