package check

import (
	"strings"

	"gpurun/cudart/sim/check/finding"
	"gpurun/cudart/sim/check/race"
)

// Uninitialized is a read of bytes that nobody has written since their allocation, by a load, an atomic operation or a
// multiplication of a kernel. What copies read, those of streams and asynchronous ones, is not looked at, and what they
// write counts as written: kernels copy whole tiles of which only a part is used.
const Uninitialized = finding.Uninitialized

const nobodyWrote = "nobody wrote the bytes"

// uninitialized returns what notes reads of a memory's bytes that nobody wrote, or nil where they do not matter.
func (r *run) uninitialized(memory any) func(t *race.Thread, op *race.Operation, addr uint64) {
	if !r.checker.cfg.Processes {
		return nil
	}
	return func(t *race.Thread, op *race.Operation, addr uint64) {
		if memory == nil {
			if in := r.memory.ever(addr); in == nil || in.written {
				return
			}
		}
		at := access(race.Side{Thread: t.Name, Op: op})
		if at.Kernel == "" || strings.HasPrefix(at.Opcode(), "cp.") || r.noted.seen(Uninitialized, nobodyWrote, &at) {
			return
		}
		advice := "write the bytes before they are read, or fill the memory behind its allocation"
		if memory != nil {
			advice = "write the bytes before they are read: shared memory begins with no values"
		}
		r.noted.add(Finding{
			Kind: Uninitialized, Cause: nobodyWrote, Sides: []Access{at}, Bytes: op.Bytes, Where: r.where(memory, addr),
			Advice: advice,
		})
	}
}
