package userkernel

import (
	"cmp"
	"fmt"
	"path/filepath"

	"gpurun/cudart"
	"gpurun/kernels/barrier"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
)

// chunk is how many bytes of initial values pass through the host at a time.
const chunk = 16 << 20

// initialize writes what all buffers hold before the first call.
func (st *state) initialize(s cudart.Stream, t target) error {
	sizes, err := st.file.Sizes(st.values(t))
	if err != nil {
		return err
	}
	for i := range st.file.Buffers {
		b := &st.file.Buffers[i]
		var err error
		switch {
		case b.Size.IsZero(): // the call's own
		case b.Host:
			err = st.makeHost(b, t)
		default:
			err = st.initializeArea(s, b, sizes[i], t)
		}
		if err != nil {
			return fmt.Errorf("initializing the buffer %s: %w", b.Name, err)
		}
	}
	return nil
}

// initializeArea writes the initial values of a buffer's area, which is as large as any call of the job needs it. Those
// of an input of a custom file may depend on the size of a call, and each verified call writes its own: here only the
// part that this call has of it gets values.
func (st *state) initializeArea(s cudart.Stream, b *kernelfile.Buffer, called int64, t target) error {
	one := st.areas[b.Name].Bytes
	bytes := one
	if b.Init != nil && b.Init.DependsOnSize() {
		bytes = min(one, called)
	}
	for number := range int(copies(b)) {
		at := st.copyAt(b, number)
		if bytes < one {
			if err := s.Fill(st.comm.Local(at+bytes), poison, one-bytes); err != nil {
				return err
			}
		}
		if err := st.write(s, b, at, bytes, t); err != nil {
			return err
		}
	}
	return nil
}

// makeHost allocates a buffer of the host, as large as any call of the job needs it. It is freed with the device.
func (st *state) makeHost(b *kernelfile.Buffer, t target) error {
	bytes := st.areas[b.Name].Bytes
	buffer, err := st.comm.Device().MallocHost(max(bytes, 1))
	if err != nil {
		return err
	}
	st.hosts[b.Name] = buffer
	values := st.values(t)
	if b.InitFile.Text != "" {
		if _, err := st.fileContent(b, bytes, values); err != nil {
			return err
		}
	}
	return st.content(b, values, buffer.Bytes()[:bytes], 0)
}

// write writes the initial value of a buffer at an offset.
func (st *state) write(s cudart.Stream, b *kernelfile.Buffer, at, bytes int64, t target) error {
	switch value, uniform := b.Uniform(); {
	case bytes == 0:
		return nil
	case b.InitFile.Text != "":
		return st.writeFile(s, b, at, bytes, t)
	case uniform:
		return s.Fill(st.comm.Local(at), value, bytes)
	}
	buf := make([]byte, min(bytes, chunk))
	for done := int64(0); done < bytes; done += chunk {
		part := buf[:min(chunk, bytes-done)]
		if err := st.content(b, st.values(t), part, done); err != nil {
			return err
		}
		if err := s.Upload(st.comm.Local(at+done), part); err != nil {
			return err
		}
	}
	return nil
}

// content makes what a buffer holds at first, from a byte on that is a multiple of every element's size.
func (u *user) content(b *kernelfile.Buffer, values kernelfile.Call, dst []byte, at int64) error {
	if b.InitFile.Text != "" {
		whole, err := u.readFile(b.InitFile, b.Type, values)
		copied := copy(dst, whole[min(at, int64(len(whole))):])
		for i := range dst[copied:] {
			dst[copied+i] = poison
		}
		return err
	}
	if value, ok := b.Uniform(); ok {
		for i := range dst {
			dst[i] = value
		}
		return nil
	}
	return u.file.Initial(b, values, at/b.Init.Bytes(), dst)
}

// writeFile writes the elements of a .npy file, and poison behind them.
func (st *state) writeFile(s cudart.Stream, b *kernelfile.Buffer, at, bytes int64, t target) error {
	content, err := st.fileContent(b, bytes, st.values(t))
	if err != nil {
		return err
	}
	if err := s.Fill(st.comm.Local(at), poison, bytes); err != nil {
		return err
	}
	return s.Upload(st.comm.Local(at), content)
}

// fileContent reads the elements of a .npy file for a buffer of so many bytes.
func (u *user) fileContent(b *kernelfile.Buffer, bytes int64, values kernelfile.Call) ([]byte, error) {
	content, err := u.readFile(b.InitFile, b.Type, values)
	if err == nil && int64(len(content)) > bytes {
		err = fmt.Errorf("%s:%d: the file has %d bytes, and the buffer %d", u.file.Path, b.InitFile.Line, len(content), bytes)
	}
	return content, err
}

// readFile reads the elements of a .npy file that the kernel file names.
func (u *user) readFile(path kernelfile.Text, dtype string, values kernelfile.Call) ([]byte, error) {
	d, ok := collective.ParseDType(dtype)
	if !ok {
		d = collective.UInt8
	}
	name := path.Fill(values)
	if !filepath.IsAbs(name) {
		name = filepath.Join(filepath.Dir(u.file.Path), name)
	}
	return readNPY(name, d)
}

// reset writes the initial values of buffers that have them before every call. The barrier before it waits until all
// ranks have ended the call before. The one behind it keeps signals of this call from being overwritten.
func (st *state) reset(s cudart.Stream, rec recorder) error {
	met, line := false, 0
	for i := range st.file.Buffers {
		b := &st.file.Buffers[i]
		if !b.Reset {
			continue
		}
		if !met {
			err := barrier.Meet(st.comm, s, collective.StartBarrier)
			if err := cmp.Or(err, rec.reset(collective.BarrierStep, "barrier", b.Line)); err != nil {
				return err
			}
			met, line = true, b.Line
		}
		value, ok := b.Uniform()
		if !ok {
			return fmt.Errorf("%s:%d: the buffer %s is reset before every call, which needs the same value in every byte",
				st.file.Path, b.Line, b.Name)
		}
		if err := s.Fill(st.comm.Local(st.copyOf(b)), value, st.areas[b.Name].Bytes); err != nil {
			return err
		}
		if err := rec.reset(collective.FillStep, "reset "+b.Name, b.Line); err != nil {
			return err
		}
	}
	if !met {
		return nil
	}
	if err := barrier.Meet(st.comm, s, collective.EndBarrier); err != nil {
		return err
	}
	return rec.reset(collective.BarrierStep, "barrier", line)
}
