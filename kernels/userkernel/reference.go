package userkernel

import (
	"context"
	"errors"
	"fmt"

	"gpurun/cudart"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
)

// A reference kernel runs on the device of the rank that verifies its outputs. It gets copies of all ranks' inputs,
// which no other kernel writes, and outputs of its own for every rank. Of these the rank's own are compared.

// referenceMemory has the inputs and outputs of a reference kernel, by buffer and rank.
type referenceMemory struct {
	memory
	at map[string][]cudart.DevicePtr
}

// Address is the copy of a rank's input or output. A buffer that is neither does not exist for a reference kernel.
func (m *referenceMemory) Address(name string, rank int) (uint64, error) {
	at, ok := m.at[name]
	if !ok {
		return 0, fmt.Errorf("the reference kernel has inputs and outputs alone, and %s is neither", name)
	}
	return uint64(at[rank]), nil
}

// Multicast is refused: a reference kernel runs on one device.
func (m *referenceMemory) Multicast(name string) (uint64, error) {
	return 0, fmt.Errorf("the reference kernel runs on one device, where %s has no multicast address", name)
}

// runReference runs the reference kernel for the call of a number, and sets those outputs that nothing else gives.
func (x *custom) runReference(c *collective.Comm, s cudart.Stream, call collective.Call, number int64,
	buffers []collective.CustomBuffer, inputs func(buffer, rank int) ([]byte, error), outputs [][]byte,
) (err error) {
	st, t := x.state(c), x.target(c, call)
	m := &referenceMemory{memory{st, s, t}, map[string][]cudart.DevicePtr{}}
	defer func() {
		for _, all := range m.at {
			for _, p := range all {
				err = errors.Join(err, c.Device().Free(p))
			}
		}
	}()
	if err := m.fill(buffers, inputs); err != nil {
		return err
	}
	v := st.values(t)
	v.Number = number
	step, err := x.file.BindReference(v, x.bundle, m)
	if err != nil {
		return err
	}
	kernel, err := st.kernel(s, t, step)
	if err != nil {
		return err
	}
	if err := s.Launch(kernel, step.Launch, step.Params); err != nil {
		return fmt.Errorf("launching the reference kernel: %w", err)
	}
	if err := s.Synchronize(context.Background()); err != nil { // it waits for no peer
		return fmt.Errorf("running the reference kernel: %w", err)
	}
	for i, b := range buffers {
		if !b.Output || outputs[i] != nil {
			continue
		}
		outputs[i] = make([]byte, b.Bytes)
		if err := s.Download(outputs[i], m.at[b.Name][c.Rank()]); err != nil {
			return fmt.Errorf("downloading the output %s of the reference kernel: %w", b.Name, err)
		}
	}
	return nil
}

// fill allocates all buffers, uploads the inputs and poisons the outputs.
func (m *referenceMemory) fill(buffers []collective.CustomBuffer, inputs func(buffer, rank int) ([]byte, error)) error {
	for i, b := range buffers {
		for rank := range m.comm.World() {
			p, err := m.comm.Device().Malloc(max(b.Bytes, 1))
			if err != nil {
				return fmt.Errorf("allocating %s of rank %d for the reference kernel: %w", b.Name, rank, err)
			}
			m.at[b.Name] = append(m.at[b.Name], p)
			if b.Output {
				if err := m.stream.Fill(p, poison, max(b.Bytes, 1)); err != nil {
					return err
				}
				continue
			}
			content, err := inputs(i, rank)
			if err != nil {
				return err
			}
			if err := m.stream.Upload(p, content); err != nil {
				return err
			}
		}
	}
	return nil
}

// poison is what outputs hold that a kernel does not write: NaN as a float of any type.
const poison = 0xff

var _ kernelfile.Memory = (*referenceMemory)(nil)
