package check

import (
	"fmt"

	"gpurun/cudart"
	"gpurun/cudart/sim/check/race"
)

// kernel is a kernel of this device's modules.
func (d *device) kernel(k cudart.Kernel) (*kernel, error) {
	own, ok := k.(*kernel)
	if !ok || own.module.device != d || own.module.unloaded {
		return nil, failure("launching a kernel", cudart.ErrInvalidHandle,
			"the kernel belongs to no module loaded on this device")
	}
	return own, nil
}

// transfer is an access to a range of memory by a command of a stream.
func (s *stream) transfer(kind race.Kind, command string, at cudart.DevicePtr, n int) {
	const largest = 256 // bytes of an element
	addr, end := uint64(at), uint64(at)+uint64(n)
	for addr < end {
		size := uint64(largest)
		for addr%size != 0 || addr+size > end {
			size /= 2
		}
		elements := 1
		if size == largest {
			elements = int((end - addr) / largest)
		}
		op := &race.Operation{Kind: kind, Bytes: size, Site: s.device.run.commandSite(command)}
		s.device.run.detector.Access(s.thread, &s.device.run.memory.shadow, op, []uint64{addr}, elements)
		if kind == race.Write {
			s.device.run.signals.command(addr, size*uint64(elements))
		}
		addr += size * uint64(elements)
	}
	// Copy notes what it has copied: its destination may overlap its source.
	if o := s.device.run.origins; o != nil && kind == race.Write && command != "copy" {
		o.command(uint64(at), uint64(n), command, s.actor())
	}
	s.device.run.trace.mix(uint64(kind), uint64(at), uint64(n))
}

// actor is who performs the commands of the stream.
func (s *stream) actor() Actor {
	a, _ := s.thread.Name.(Actor)
	return a
}

// perform enqueues a command that is done in one step.
func (s *stream) perform(f func(on *stream) error) error {
	return s.enqueue(func(on *stream) (task, error) { return nil, f(on) })
}

func (s *stream) Copy(dst, src cudart.DevicePtr, n int64) error {
	return s.perform(func(on *stream) error {
		from, err := s.device.run.memory.bytes(src, n)
		if err != nil {
			return fmt.Errorf("copying: %w", err)
		}
		to, err := s.device.run.memory.bytes(dst, n)
		if err != nil {
			return fmt.Errorf("copying: %w", err)
		}
		on.transfer(race.Read, "copy", src, len(from))
		on.transfer(race.Write, "copy", dst, len(to))
		if o := s.device.run.origins; o != nil {
			o.copied(uint64(dst), uint64(src), uint64(n), on.actor())
		}
		copy(to, from)
		return nil
	})
}

func (s *stream) Fill(dst cudart.DevicePtr, value byte, n int64) error {
	return s.perform(func(on *stream) error {
		to, err := s.device.run.memory.bytes(dst, n)
		if err != nil {
			return fmt.Errorf("filling: %w", err)
		}
		on.fill(to, uint64(dst), value)
		on.transfer(race.Write, "fill", dst, len(to))
		return nil
	})
}

// fill writes a value everywhere, but no zeros to memory that nobody has touched: large areas of flags are often
// cleared.
func (s *stream) fill(to []byte, addr uint64, value byte) {
	const piece = 1 << 16
	m := &s.device.run.memory
	for len(to) > 0 {
		n := min(len(to), piece)
		if r := m.find(addr); value != 0 || r == nil || r.host || !m.shadow.Untouched(addr, uint64(n)) ||
			len(s.device.run.incomplete) > 0 {
			fillBytes(to[:n], value)
		}
		to, addr = to[n:], addr+uint64(n)
	}
}

func fillBytes(to []byte, value byte) {
	for i := range to {
		to[i] = value
	}
}

// Upload copies behind the work enqueued so far, and waits for that.
func (s *stream) Upload(dst cudart.DevicePtr, src []byte) error {
	return s.atOnce(func(on *stream) error {
		to, err := s.device.run.memory.bytes(dst, int64(len(src)))
		if err != nil {
			return fmt.Errorf("uploading: %w", err)
		}
		on.transfer(race.Write, "upload", dst, len(to))
		copy(to, src)
		return nil
	})
}

// Download copies behind the work enqueued so far, and waits for that.
func (s *stream) Download(dst []byte, src cudart.DevicePtr) error {
	return s.atOnce(func(on *stream) error {
		from, err := s.device.run.memory.bytes(src, int64(len(dst)))
		if err != nil {
			return fmt.Errorf("downloading: %w", err)
		}
		on.transfer(race.Read, "download", src, len(from))
		copy(dst, from)
		return nil
	})
}

func (s *stream) atOnce(f func(on *stream) error) error {
	if err := s.notCapturing("copying between host and device"); err != nil {
		return err
	}
	if err := s.perform(f); err != nil {
		return err
	}
	if err := s.drain(); err != nil {
		return err
	}
	return s.device.fault
}
