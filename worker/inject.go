package worker

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"gpurun/kernels/collective"
)

// Injection is a failure made on purpose, to see that gpurun notices.
type Injection struct {
	Kind InjectionKind `json:"kind"`
	Rank int           `json:"rank"`
	// Byte is the offset in the rank's result whose lowest bit is flipped;
	// Corrupt only.
	Byte int64 `json:"byte,omitempty"`
}

// InjectionKind says what fails.
type InjectionKind string

// The failures that can be injected.
const (
	Corrupt InjectionKind = "corrupt" // flip one bit of the first result that is long enough
	Kill    InjectionKind = "kill"    // die by SIGKILL after the first verified call
	Hang    InjectionKind = "hang"    // stop taking part after the first verified call
)

// ParseInjection reads KIND:rank=R[,byte=B], as in "corrupt:rank=1,byte=4097".
func ParseInjection(text string) (Injection, error) {
	kind, rest, _ := strings.Cut(text, ":")
	in := Injection{Kind: InjectionKind(kind), Rank: -1, Byte: -1}
	switch in.Kind {
	case Corrupt, Kill, Hang:
	default:
		return in, fmt.Errorf("injection %q: unknown kind %q; use corrupt, kill or hang", text, kind)
	}
	for _, pair := range strings.Split(rest, ",") {
		key, value, _ := strings.Cut(pair, "=")
		n, err := strconv.ParseInt(value, 10, 64)
		switch {
		case err != nil || n < 0:
			return in, fmt.Errorf("injection %q: %q is not KEY=NUMBER", text, pair)
		case key == "rank" && in.Rank < 0 && n < 1<<31:
			in.Rank = int(n)
		case key == "byte" && in.Byte < 0 && in.Kind == Corrupt:
			in.Byte = n
		default:
			return in, fmt.Errorf("injection %q: %s takes no %q, or not twice", text, kind, key)
		}
	}
	if in.Rank < 0 || (in.Kind == Corrupt && in.Byte < 0) {
		return in, fmt.Errorf("injection %q is incomplete: write corrupt:rank=R,byte=B, kill:rank=R or hang:rank=R", text)
	}
	return in, nil
}

// checkInjections refuses failures that would never happen: a run that passes in
// spite of them would prove nothing.
func (j Job) checkInjections(s collective.Shape, world int, requests []request) error {
	for _, in := range j.Inject {
		var longest int64 // output, in bytes
		for _, q := range requests {
			longest = max(longest, testCase{shape: s, world: world, call: q.call}.outputBytes(in.Rank))
		}
		switch {
		case in.Rank >= world:
			return usagef("cannot inject a failure into rank %d: the ranks are 0 to %d", in.Rank, world-1)
		case in.Kind == Corrupt && !j.Verify:
			return usagef("corruption is injected to see it found, and verification is off")
		case in.Kind == Corrupt && in.Byte >= longest:
			return usagef("cannot corrupt byte %d of rank %d, whose longest output has %d bytes, from 0 on", in.Byte, in.Rank, longest)
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

// injectCorruption flips the lowest bit of one byte of the output on the device,
// if the output is that long, and reports whether it did. Where results need not
// match to the bit, it flips the sign of the element instead.
func (r *rank) injectCorruption(t trial) (done bool, err error) {
	in, ok := r.takeInjection(func(in Injection) bool { return in.Kind == Corrupt && in.Byte < t.outputBytes(r.Rank) })
	if !ok {
		return false, nil
	}
	offset, flip := in.Byte, byte(1)
	if size := int64(t.call.DType.Size); t.call.Epilogue.Kind == collective.RMSNorm {
		offset, flip = offset/size*size+size-1, 0x80
	}
	at := r.comm.Local(r.place(t.testCase).Recv + offset)
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
	if _, ok := r.takeInjection(func(in Injection) bool { return in.Kind == Kill }); ok {
		return syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
	if _, ok := r.takeInjection(func(in Injection) bool { return in.Kind == Hang }); ok {
		select {}
	}
	return nil
}
