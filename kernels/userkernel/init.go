package userkernel

import (
	"fmt"

	"gpurun/cudart"
	"gpurun/kernels/barrier"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
)

// poison is what a buffer holds for which the file has no initial value: NaN as a float of any type.
const poison = 0xff

// chunk is how many bytes of initial values pass through the host at a time.
const chunk = 16 << 20

// initialize writes what all buffers hold before the first call, and waits for it.
func (st *state) initialize(s cudart.Stream, call collective.Call) error {
	for _, b := range st.file.Buffers {
		if isCall(b.Name) {
			continue
		}
		if b.Host {
			if err := st.makeHost(b, call); err != nil {
				return err
			}
			continue
		}
		area, n := st.areas[b.Name], copies(b)
		for i := range n {
			if err := st.write(s, b, area.Offset+i*(area.Bytes/n), area.Bytes/n, call); err != nil {
				return fmt.Errorf("initializing the buffer %s: %w", b.Name, err)
			}
		}
	}
	return nil
}

// makeHost allocates a buffer of the host, which is freed with the device.
func (st *state) makeHost(b kernelfile.Buffer, call collective.Call) error {
	sizes, err := st.file.Sizes(st.at(call))
	if err != nil {
		return err
	}
	for i, other := range st.file.Buffers {
		if other.Name != b.Name {
			continue
		}
		buffer, err := st.comm.Device().MallocHost(max(sizes[i], 1))
		if err != nil {
			return fmt.Errorf("allocating the buffer %s on the host: %w", b.Name, err)
		}
		st.hosts[b.Name] = buffer
		return st.content(b, buffer.Bytes(), 0, call)
	}
	return nil
}

// write writes the initial value of a buffer at an offset.
func (st *state) write(s cudart.Stream, b kernelfile.Buffer, at, bytes int64, call collective.Call) error {
	if value, ok := st.uniform(b); ok {
		if bytes == 0 {
			return nil
		}
		return s.Fill(st.comm.Local(at), value, bytes)
	}
	buf := make([]byte, min(bytes, chunk))
	for done := int64(0); done < bytes; done += chunk {
		part := buf[:min(chunk, bytes-done)]
		if err := st.content(b, part, done, call); err != nil {
			return err
		}
		if err := s.Upload(st.comm.Local(at+done), part); err != nil {
			return err
		}
	}
	return nil
}

// uniform is the value of every byte of a buffer, if all are the same whatever the rank.
func (st *state) uniform(b kernelfile.Buffer) (byte, bool) {
	if b.Init == nil {
		return poison, true
	}
	return b.Init.Uniform()
}

// content makes the initial values from a byte of a buffer on.
func (st *state) content(b kernelfile.Buffer, dst []byte, at int64, call collective.Call) error {
	if value, ok := st.uniform(b); ok {
		for i := range dst {
			dst[i] = value
		}
		return nil
	}
	return b.Init.Write(dst, at, st.at(call))
}

// reset writes the initial values of buffers that have them before every call. The barrier before it waits until all ranks
// have ended the call before; the one behind it keeps signals of this call from being overwritten.
func (st *state) reset(s cudart.Stream, call collective.Call) error {
	meets := false
	for _, b := range st.file.Buffers {
		if !b.Reset || isCall(b.Name) {
			continue
		}
		if !meets {
			if err := barrier.Meet(st.comm, s, collective.StartBarrier); err != nil {
				return err
			}
			meets = true
		}
		value, ok := st.uniform(b)
		if !ok {
			return fmt.Errorf("%s:%d: the buffer %s is reset before every call, which needs the same value in every byte",
				st.file.Path, b.Line, b.Name)
		}
		area, n := st.areas[b.Name], copies(b)
		if err := s.Fill(st.comm.Local(area.Offset+st.number%n*(area.Bytes/n)), value, area.Bytes/n); err != nil {
			return err
		}
	}
	if !meets {
		return nil
	}
	return barrier.Meet(st.comm, s, collective.EndBarrier)
}

// setGlobals sets the variables of a module that the file names and the module has.
func (st *state) setGlobals(s cudart.Stream, m cudart.Module, call collective.Call) error {
	for _, g := range st.file.Globals {
		content, err := st.file.Global(g, st.at(call), &memory{st, s, call})
		if err != nil {
			return err
		}
		at, size, err := m.Global(g.Name)
		if err != nil {
			return fmt.Errorf("%s:%d: %w", st.file.Path, g.Line, err)
		}
		if int64(len(content)) > size {
			return fmt.Errorf("%s:%d: the variable %s has %d bytes, not %d", st.file.Path, g.Line, g.Name, size, len(content))
		}
		if err := s.Upload(at, content); err != nil {
			return err
		}
	}
	return nil
}
