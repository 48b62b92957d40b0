package litmus

import (
	"fmt"
	"slices"
	"strings"
)

// kernel is a litmus test as PTX: a thread of the test is a warp, of which one lane acts. Threads of one CTA are warps
// of a block, and GPUs are ranks. Line n of the source "litmus.cu" is instruction n of the test, in lines.
type kernel struct {
	test  *Test
	text  strings.Builder
	lines []*Instruction // line 1 is the first
	// blocks are the CTAs of each GPU, and warps how many each block of it has.
	blocks []map[int]int
	warps  []int
	homes  []home // of the threads
	values int    // temporary registers
}

type home struct{ rank, block, warp int }

const (
	wordBytes   = 256  // from a location to the next
	resultsAt   = 4096 // the registers of thread t are at resultsAt + t*threadBytes
	threadBytes = 256
)

// compile makes the kernel of a test, or reports false where the test has something that PTX cannot say.
func compile(t *Test) (*kernel, bool) {
	k := &kernel{test: t}
	k.place()
	k.text.WriteString(".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"litmus.cu\"\n" +
		".visible .entry litmus(.param .u64 base, .param .u32 rank)\n{\n" +
		"\t.reg .b64 %base;\n\t.reg .b32 %self, %lane, %block, %warp;\n\t.reg .pred %here, %other, %acts, %p;\n")
	for i, thread := range t.Threads {
		for j := range thread.Registers {
			fmt.Fprintf(&k.text, "\t.reg .b32 %%r%d_%d;\n", i, j)
		}
	}
	k.text.WriteString("\t.reg .b32 %v<200>;\n\tld.param.u64 %base, [base];\n\tld.param.u32 %self, [rank];\n" +
		"\tmov.u32 %block, %ctaid.x;\n\tmov.u32 %warp, %tid.x;\n\tand.b32 %lane, %warp, 31;\n\tshr.u32 %warp, %warp, 5;\n" +
		"\tsetp.eq.u32 %acts, %lane, 0;\n")
	for i := range t.Threads {
		h := k.homes[i]
		fmt.Fprintf(&k.text, "\tsetp.eq.u32 %%here, %%self, %d;\n\tsetp.eq.and.u32 %%here, %%block, %d, %%here;\n"+
			"\tsetp.eq.and.u32 %%here, %%warp, %d, %%here;\n\t@%%here bra thread%d;\n", h.rank, h.block, h.warp, i)
	}
	k.text.WriteString("\tret;\n")
	for i := range t.Threads {
		if !k.thread(i) {
			return nil, false
		}
	}
	k.text.WriteString("}\n")
	return k, k.values < 200
}

// place gives the threads their warps.
func (k *kernel) place() {
	for _, t := range k.test.Threads {
		for len(k.blocks) <= t.GPU {
			k.blocks, k.warps = append(k.blocks, map[int]int{}), append(k.warps, 0)
		}
		block, ok := k.blocks[t.GPU][t.CTA]
		if !ok {
			block = len(k.blocks[t.GPU])
			k.blocks[t.GPU][t.CTA] = block
		}
		warp := 0
		for _, h := range k.homes {
			if h.rank == t.GPU && h.block == block {
				warp++
			}
		}
		k.homes = append(k.homes, home{t.GPU, block, warp})
		k.warps[t.GPU] = max(k.warps[t.GPU], warp+1)
	}
}

// thread writes the code of a thread. Where it has a barrier, all lanes go through it and one accesses memory; then it
// has no branches. Elsewhere the other lanes end at once.
func (k *kernel) thread(number int) bool {
	t := &k.test.Threads[number]
	is := func(o Opcode) bool {
		return slices.ContainsFunc(t.Code, func(in Instruction) bool { return in.Opcode == o })
	}
	barriers := is(Barrier)
	if barriers && is(Branch) {
		return false
	}
	fmt.Fprintf(&k.text, "thread%d:\n", number)
	guard := "@%acts "
	if !barriers {
		k.text.WriteString("\t@!%acts ret;\n")
		guard = ""
	}
	for j, r := range t.Registers {
		fmt.Fprintf(&k.text, "\tmov.b32 %%r%d_%d, %d;\n", number, j, r.Initial)
	}
	for at := range t.Code {
		in := &t.Code[at]
		k.lines = append(k.lines, in)
		fmt.Fprintf(&k.text, "at%d_%d:\n\t.loc 1 %d 0\n", number, at, len(k.lines))
		if !k.instruction(number, in, guard) {
			return false
		}
	}
	fmt.Fprintf(&k.text, "at%d_%d:\n", number, len(t.Code))
	for j := range t.Registers {
		fmt.Fprintf(&k.text, "\t%sst.global.b32 [%%base+%d], %%r%d_%d;\n", guard, resultsAt+number*threadBytes+4*j, number, j)
	}
	k.text.WriteString("\tret;\n")
	return true
}

// operand is a register that holds an operand.
func (k *kernel) operand(thread int, o Operand) string {
	if o.Register >= 0 {
		return fmt.Sprintf("%%r%d_%d", thread, o.Register)
	}
	k.values++
	fmt.Fprintf(&k.text, "\tmov.b32 %%v%d, %d;\n", k.values, o.Value)
	return fmt.Sprintf("%%v%d", k.values)
}

var (
	orderNames = map[Order]string{
		Weak: "weak", Relaxed: "relaxed", Acquire: "acquire", Release: "release", AcquireRelease: "acq_rel",
		SequentiallyConsistent: "sc",
	}
	strengthNames = map[Scope]string{NoScope: "", CTA: ".cta", GPU: ".gpu", System: ".sys"}
	atomTypes     = map[string]string{
		"add": "u32", "and": "b32", "or": "b32", "xor": "b32", "min": "s32", "max": "s32", "inc": "u32", "dec": "u32",
		"exch": "b32", "cas": "b32",
	}
)

func (k *kernel) instruction(thread int, in *Instruction, guard string) bool {
	var operands []string
	if in.Opcode != Barrier {
		for _, o := range in.Operands {
			operands = append(operands, k.operand(thread, o))
		}
	}
	result := fmt.Sprintf("%%r%d_%d", thread, in.Register)
	strength := orderNames[in.Order] + strengthNames[in.Scope]
	address := ""
	if in.Opcode == Load || in.Opcode == Store || in.Opcode == Atomic {
		l := k.test.Locations[in.Location]
		if in.Proxy != Generic || l.Memory != in.Location {
			return false
		}
		address = fmt.Sprintf("[%%base+%d]", wordBytes*in.Location)
	}
	write := func(format string, args ...any) bool {
		fmt.Fprintf(&k.text, "\t"+format+";\n", args...)
		return true
	}
	switch in.Opcode {
	case Move:
		return write("mov.b32 %s, %s", result, operands[0])
	case Load:
		return write("%sld.%s.global.b32 %s, %s", guard, strength, result, address)
	case Store:
		return write("%sst.%s.global.b32 %s, %s", guard, strength, address, operands[0])
	case Fence:
		return write("%sfence.%s", guard, strength)
	case Atomic:
		kind, ok := atomTypes[in.Operation]
		values := strings.Join(operands, ", ")
		switch {
		case !ok:
			return false
		case in.Register < 0:
			return write("%sred.%s.global.%s.%s %s, %s", guard, strength, in.Operation, kind, address, values)
		}
		return write("%satom.%s.global.%s.%s %s, %s, %s", guard, strength, in.Operation, kind, result, address, values)
	case Barrier:
		return k.barrier(in, write)
	case Branch:
		if in.Operation == "" {
			return write("bra at%d_%d", thread, in.Target)
		}
		return write("setp.%s.s32 %%p, %s, %s", in.Operation, operands[0], operands[1]) &&
			write("@%%p bra at%d_%d", thread, in.Target)
	}
	return false
}

// barrier writes bar.sync or bar.arrive. A litmus thread is a warp, so its barriers count 32 times as many.
func (k *kernel) barrier(in *Instruction, write func(format string, args ...any) bool) bool {
	for _, o := range in.Operands {
		if o.Register >= 0 {
			return false
		}
	}
	switch {
	case in.Barrier.Static:
		return false
	case len(in.Operands) == 1:
		return write("bar.sync %d", in.Operands[0].Value)
	case in.Barrier.Arrive:
		return write("bar.arrive %d, %d", in.Operands[0].Value, 32*in.Operands[1].Value)
	}
	return write("bar.sync %d, %d", in.Operands[0].Value, 32*in.Operands[1].Value)
}
