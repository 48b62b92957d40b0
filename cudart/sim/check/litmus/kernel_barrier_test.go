package litmus

import (
	"fmt"
	"slices"
)

// Barriers as PTX. All lanes of a warp go through one, and one lane alone accesses memory. So a branch in front of one
// is decided by the value that lane 0 has.

// barrier writes bar.sync or bar.arrive. A litmus thread is a warp, so its barriers count 32 times as many.
func (k *kernel) barrier(thread int, in *Instruction) (reason string) {
	operands := in.Operands
	number := ""
	if in.Barrier.Static {
		if reason := k.staticBarrier(thread, in); reason != "" {
			return reason
		}
		number, operands = fmt.Sprint(k.staticNumber(in)), operands[min(1, len(operands)-1):]
	} else {
		number = k.operand(thread, operands[0])
	}
	name := "barrier.sync"
	if in.Barrier.Arrive {
		name = "barrier.arrive"
	}
	if len(operands) == 1 {
		return k.write("%s %s", name, number)
	}
	count := k.operand(thread, operands[1])
	k.values++
	threads := fmt.Sprintf("%%v%d", k.values)
	k.write("shl.b32 %s, %s, 5", threads, count)
	return k.write("%s %s, %s", name, number, threads)
}

// staticNumber is the barrier that stands for bar.cta of an instruction and a barrier.
func (k *kernel) staticNumber(in *Instruction) int {
	key := fmt.Sprint(in.Operands[:min(2, len(in.Operands))])
	if at := slices.Index(k.static, key); at >= 0 {
		return at
	}
	k.static = append(k.static, key)
	return len(k.static) - 1
}

// staticBarrier says why bar.cta is none of PTX's barriers. Each number of an instruction is a barrier of its own.
// Where it counts, any so many arrivals are known to all that wait, now and later. PTX means the same where that is all
// of the CTA's arrivals, or, without a number of threads, where each thread of the CTA comes.
func (k *kernel) staticBarrier(thread int, in *Instruction) (reason string) {
	arrivals, lacking := 0, false
	for i, other := range k.test.Threads {
		if other.CTA != k.test.Threads[thread].CTA || other.GPU != k.test.Threads[thread].GPU {
			continue
		}
		before := arrivals
		for _, o := range k.test.Threads[i].Code {
			switch {
			case o.Opcode == Branch:
				return "bar.cta behind a branch: whether a thread comes is not known beforehand"
			case o.Opcode == Barrier && o.Barrier.Static && slices.Equal(o.Operands, in.Operands):
				arrivals++
			}
		}
		lacking = lacking || arrivals == before
	}
	for _, o := range in.Operands {
		if o.Register >= 0 {
			return "bar.cta with a register as operand"
		}
	}
	switch {
	case len(in.Operands) == 3 && int64(arrivals) != in.Operands[2].Value:
		return "bar.cta that counts other than the arrivals that there are: no barrier of PTX is open for later ones"
	case len(in.Operands) < 3 && lacking:
		return "bar.cta that some threads of the CTA lack: PTX's barrier would wait for them"
	}
	return ""
}

// together makes all lanes of a warp go the same way as lane 0, which has the values.
func (k *kernel) together(thread int, o Operand) string {
	value := k.operand(thread, o)
	if !k.barriers {
		return value
	}
	k.values++
	k.write("shfl.sync.idx.b32 %%v%d, %s, 0, 31, 0xffffffff", k.values, value)
	return fmt.Sprintf("%%v%d", k.values)
}
