package worker

import (
	"fmt"
	"os"
	"syscall"

	"gpurun/kernels/collective"
	"gpurun/worker/workload"
)

// takeInjection finds a failure meant for this rank; each is taken once.
func (r *rank) takeInjection(fits func(workload.Injection) bool) (workload.Injection, bool) {
	for i, in := range r.Job.Inject {
		if in.Rank == r.Rank && fits(in) {
			r.Job.Inject = append(r.Job.Inject[:i:i], r.Job.Inject[i+1:]...)
			return in, true
		}
	}
	return workload.Injection{}, false
}

// injectCorruption flips the lowest bit of one byte of the output on the device,
// if the output is that long, and reports whether it did. Where results need not
// match to the bit, it flips the sign of the element instead.
func (r *rank) injectCorruption(t trial) (done bool, err error) {
	in, ok := r.takeInjection(func(in workload.Injection) bool {
		return in.Kind == workload.Corrupt && in.Byte < t.OutputBytes(r.Rank)
	})
	if !ok {
		return false, nil
	}
	offset, flip := in.Byte, byte(1)
	if size := int64(t.Call.DType.Size); t.Call.Epilogue.Kind == collective.RMSNorm {
		offset, flip = offset/size*size+size-1, 0x80
	}
	at := r.comm.Local(r.place(t.Case).Recv + offset)
	var b [1]byte
	if err := r.stream.Download(b[:], at); err != nil {
		return false, fmt.Errorf("injecting corruption: %w", err)
	}
	b[0] ^= flip
	if err := r.stream.Upload(at, b[:]); err != nil {
		return false, fmt.Errorf("injecting corruption: %w", err)
	}
	return true, nil
}

// injectAfterFirst ends or hangs this rank between its first verified call and
// the timing.
func (r *rank) injectAfterFirst() error {
	if _, ok := r.takeInjection(func(in workload.Injection) bool { return in.Kind == workload.Kill }); ok {
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	if _, ok := r.takeInjection(func(in workload.Injection) bool { return in.Kind == workload.Hang }); ok {
		select {}
	}
	return nil
}
