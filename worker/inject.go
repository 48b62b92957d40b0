package worker

import (
	"fmt"
	"os"
	"slices"
	"syscall"
)

// checkInjections refuses failures that would never happen: a run that passes in
// spite of them would prove nothing.
func (j Job) checkInjections(world int) error {
	for _, in := range j.Inject {
		switch {
		case in.Rank >= world:
			return &UsageError{fmt.Sprintf("cannot inject a failure into rank %d: the ranks are 0 to %d", in.Rank, world-1)}
		case in.Kind == Corrupt && !j.Verify:
			return &UsageError{"corruption is injected to see it found, and verification is off"}
		case in.Kind == Corrupt && !slices.ContainsFunc(j.Sizes, func(bytes int64) bool { return in.Byte < bytes }):
			return &UsageError{fmt.Sprintf("cannot corrupt byte %d: all sizes are smaller", in.Byte)}
		}
	}
	return nil
}

// takeInjection finds a failure meant for this rank; each is taken once.
func (r *rank) takeInjection(fits func(Injection) bool) (Injection, bool) {
	for i, in := range r.Job.Inject {
		if in.Rank == r.Rank && fits(in) {
			r.Job.Inject = append(r.Job.Inject[:i:i], r.Job.Inject[i+1:]...)
			return in, true
		}
	}
	return Injection{}, false
}

// injectCorruption flips the lowest bit of one byte of the output on the
// device, if the output is that long.
func (r *rank) injectCorruption(output, bytes int64) error {
	in, ok := r.takeInjection(func(in Injection) bool { return in.Kind == Corrupt && in.Byte < bytes })
	if !ok {
		return nil
	}
	at := r.comm.Local(output + in.Byte)
	var b [1]byte
	if err := r.stream.Download(b[:], at); err != nil {
		return fmt.Errorf("injecting corruption: %w", err)
	}
	b[0] ^= 1
	if err := r.stream.Upload(at, b[:]); err != nil {
		return fmt.Errorf("injecting corruption: %w", err)
	}
	return nil
}

// injectAfterFirst ends or hangs this rank between its first verified call and
// the timing.
func (r *rank) injectAfterFirst() error {
	if _, ok := r.takeInjection(func(in Injection) bool { return in.Kind == Kill }); ok {
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	if _, ok := r.takeInjection(func(in Injection) bool { return in.Kind == Hang }); ok {
		select {}
	}
	return nil
}
