package verify

import (
	"fmt"
	"os"
	"slices"
	"syscall"

	"gpurun/cudart"
	"gpurun/worker/workload"
)

// Faults are the failures that are still to be injected into a rank. Each is injected once.
type Faults struct{ pending []workload.Injection }

// NewFaults keeps the failures of one rank among those of all ranks.
func NewFaults(all []workload.Injection, rank int) *Faults {
	mine := slices.DeleteFunc(slices.Clone(all), func(in workload.Injection) bool { return in.Rank != rank })
	return &Faults{mine}
}

// take removes a failure and returns it.
func (f *Faults) take(fits func(workload.Injection) bool) (in workload.Injection, ok bool) {
	i := slices.IndexFunc(f.pending, fits)
	if i < 0 {
		return in, false
	}
	in = f.pending[i]
	f.pending = slices.Delete(f.pending, i, i+1)
	return in, true
}

// TakeCorruption is the offset of a byte to corrupt in an output of so many bytes, if
// there is one.
func (f *Faults) TakeCorruption(bytes int64) (offset int64, ok bool) {
	in, ok := f.take(func(in workload.Injection) bool { return in.Kind == workload.Corrupt && in.Byte < bytes })
	return in.Byte, ok
}

// Corrupt flips the bits of mask in a byte of a device's memory.
func Corrupt(s cudart.Stream, at cudart.DevicePtr, mask byte) error {
	var b [1]byte
	if err := s.Download(b[:], at); err != nil {
		return fmt.Errorf("injecting corruption: %w", err)
	}
	b[0] ^= mask
	if err := s.Upload(at, b[:]); err != nil {
		return fmt.Errorf("injecting corruption: %w", err)
	}
	return nil
}

// AfterFirstCall kills or hangs this process, if that is to be injected. It is called after
// the first verified call.
func (f *Faults) AfterFirstCall() error {
	if _, ok := f.take(func(in workload.Injection) bool { return in.Kind == workload.Kill }); ok {
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	if _, ok := f.take(func(in workload.Injection) bool { return in.Kind == workload.Hang }); ok {
		select {}
	}
	return nil
}
