package litmus

import (
	"context"
	"encoding/binary"

	"gpurun/cudart"
	"gpurun/cudart/sim/check"
)

// task is the host code of a rank. Rank 0 has the memory, and reads the final state.
func (k *kernel) task(r *check.Rank, state *State) error {
	var memory cudart.DevicePtr
	size := int64(resultsAt + len(k.homes)*threadBytes)
	s, err := r.Device.NewStream()
	if err != nil {
		return err
	}
	if r.Number == 0 {
		if memory, err = r.Device.Malloc(size); err != nil {
			return err
		}
		initial := make([]byte, size)
		for i, l := range k.test.Locations {
			binary.LittleEndian.PutUint32(initial[wordBytes*i:], uint32(l.Initial))
		}
		if err := s.Upload(memory, initial); err != nil {
			return err
		}
		if err := s.Synchronize(context.Background()); err != nil {
			return err
		}
	}
	all, err := r.Share(memory)
	if err != nil {
		return err
	}
	m, err := r.Device.LoadModule("litmus.ptx", []byte(k.text.String()))
	if err != nil {
		return err
	}
	f, err := m.Kernel("litmus")
	if err != nil {
		return err
	}
	params := binary.LittleEndian.AppendUint64(nil, uint64(all[0]))
	params = binary.LittleEndian.AppendUint32(params, uint32(r.Number))
	shape := cudart.Launch{Blocks: max(1, len(k.blocks[r.Number])), Threads: 32 * max(1, k.warps[r.Number])}
	if err := s.Launch(f, shape, params); err != nil {
		return err
	}
	if err := s.Synchronize(context.Background()); err != nil {
		return err
	}
	if err := r.Meet(); err != nil || r.Number != 0 {
		return err
	}
	final := make([]byte, size)
	if err := s.Download(final, memory); err != nil {
		return err
	}
	if err := s.Synchronize(context.Background()); err != nil {
		return err
	}
	k.read(final, state)
	return nil
}

// read reads the final state out of memory.
func (k *kernel) read(final []byte, s *State) {
	word := func(at int) int64 { return int64(int32(binary.LittleEndian.Uint32(final[at:]))) }
	*s = State{}
	for i, t := range k.test.Threads {
		var all []int64
		for j := range t.Registers {
			all = append(all, word(resultsAt+i*threadBytes+4*j))
		}
		s.Registers = append(s.Registers, all)
	}
	for i := range k.test.Locations {
		s.Memory = append(s.Memory, word(wordBytes*i))
	}
}
