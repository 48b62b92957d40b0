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
	// barriers says that the thread being written has barriers, and static are those of bar.cta, by their numbers.
	barriers bool
	static   []string
}

type home struct{ rank, block, warp int }

const (
	wordBytes   = 256  // from a location to the next
	resultsAt   = 4096 // the registers of thread t are at resultsAt + t*threadBytes
	threadBytes = 256
	mostValues  = 400
)

// compile makes the kernel of a test. Where it has something that PTX, or the simulator, cannot say, the reason is not
// "".
func compile(t *Test) (k *kernel, reason string) {
	k = &kernel{test: t}
	k.place()
	k.text.WriteString(".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"litmus.cu\"\n" +
		".visible .entry litmus(.param .u64 base, .param .u32 rank)\n{\n" +
		"\t.reg .b64 %base;\n\t.reg .b32 %self, %lane, %block, %warp;\n\t.reg .pred %here, %other, %acts, %p;\n")
	for i, thread := range t.Threads {
		for j := range thread.Registers {
			fmt.Fprintf(&k.text, "\t.reg .b32 %%r%d_%d;\n", i, j)
		}
	}
	fmt.Fprintf(&k.text, "\t.reg .b32 %%v<%d>;\n", mostValues)
	k.text.WriteString("\tld.param.u64 %base, [base];\n\tld.param.u32 %self, [rank];\n" +
		"\tmov.u32 %block, %ctaid.x;\n\tmov.u32 %warp, %tid.x;\n\tand.b32 %lane, %warp, 31;\n\tshr.u32 %warp, %warp, 5;\n" +
		"\tsetp.eq.u32 %acts, %lane, 0;\n")
	for i := range t.Threads {
		h := k.homes[i]
		fmt.Fprintf(&k.text, "\tsetp.eq.u32 %%here, %%self, %d;\n\tsetp.eq.and.u32 %%here, %%block, %d, %%here;\n"+
			"\tsetp.eq.and.u32 %%here, %%warp, %d, %%here;\n\t@%%here bra thread%d;\n", h.rank, h.block, h.warp, i)
	}
	k.text.WriteString("\tret;\n")
	for i := range t.Threads {
		if reason := k.thread(i); reason != "" {
			return nil, reason
		}
	}
	k.text.WriteString("}\n")
	if k.values >= mostValues {
		return nil, "too many operands"
	}
	return k, ""
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

// thread writes the code of a thread. Where it has a barrier, all lanes go through it and one accesses memory.
// Elsewhere the other lanes end at once.
func (k *kernel) thread(number int) (reason string) {
	t := &k.test.Threads[number]
	k.barriers = slices.ContainsFunc(t.Code, func(in Instruction) bool { return in.Opcode == Barrier })
	fmt.Fprintf(&k.text, "thread%d:\n", number)
	guard := "@%acts "
	if !k.barriers {
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
		if reason := k.instruction(number, in, guard); reason != "" {
			return reason
		}
	}
	fmt.Fprintf(&k.text, "at%d_%d:\n", number, len(t.Code))
	for j := range t.Registers {
		fmt.Fprintf(&k.text, "\t%sst.global.b32 [%%base+%d], %%r%d_%d;\n", guard, resultsAt+number*threadBytes+4*j, number, j)
	}
	k.text.WriteString("\tret;\n")
	return ""
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
	strengthNames   = map[Scope]string{NoScope: "", CTA: ".cta", GPU: ".gpu", System: ".sys"}
	arithmeticTypes = map[string]string{
		"add": "s32", "sub": "s32", "mul": "lo.s32", "div": "s32", "and": "b32", "or": "b32", "xor": "b32",
	}
	atomTypes = map[string]string{
		"add": "u32", "and": "b32", "or": "b32", "xor": "b32", "min": "s32", "max": "s32", "inc": "u32", "dec": "u32",
		"exch": "b32", "cas": "b32",
	}
)

// write writes an instruction. It returns no reason against it.
func (k *kernel) write(format string, args ...any) (reason string) {
	fmt.Fprintf(&k.text, "\t"+format+";\n", args...)
	return ""
}

func (k *kernel) instruction(thread int, in *Instruction, guard string) (reason string) {
	switch in.Opcode {
	case Barrier:
		return k.barrier(thread, in)
	case Branch:
		return k.branch(thread, in)
	case Load, Store, Atomic:
		switch l := k.test.Locations[in.Location]; {
		case in.Proxy != Generic:
			return "an access by the proxy of surfaces, textures or constants: the simulator has none of these"
		case l.Memory != in.Location:
			return "a second address of the same memory: the simulator has only multicast addresses, by multimem"
		}
	}
	var operands []string
	for _, o := range in.Operands {
		operands = append(operands, k.operand(thread, o))
	}
	result, values := fmt.Sprintf("%%r%d_%d", thread, in.Register), strings.Join(operands, ", ")
	strength := orderNames[in.Order] + strengthNames[in.Scope]
	address := fmt.Sprintf("[%%base+%d]", wordBytes*in.Location)
	switch in.Opcode {
	case Move:
		return k.write("mov.b32 %s, %s", result, values)
	case Arithmetic:
		if kind := arithmeticTypes[in.Operation]; kind != "" {
			return k.write("%s.%s %s, %s", in.Operation, kind, result, values)
		}
	case Load:
		return k.write("%sld.%s.global.b32 %s, %s", guard, strength, result, address)
	case Store:
		return k.write("%sst.%s.global.b32 %s, %s", guard, strength, address, values)
	case Fence:
		return k.write("%sfence.%s", guard, strength)
	case ProxyFence:
		if in.Proxy == Alias {
			return k.write("%sfence.proxy.alias", guard)
		}
		return "a fence of the proxy of surfaces, textures or constants: PTX has none of that name"
	case Atomic:
		return k.atomic(in, guard, strength, result, address, values)
	}
	return fmt.Sprintf("the operation %s", in.Text)
}

func (k *kernel) atomic(in *Instruction, guard, strength, result, address, values string) (reason string) {
	kind := atomTypes[in.Operation]
	switch {
	case kind == "":
		return "the atomic operation ." + in.Operation
	case in.Register < 0:
		return k.write("%sred.%s.global.%s.%s %s, %s", guard, strength, in.Operation, kind, address, values)
	}
	return k.write("%satom.%s.global.%s.%s %s, %s, %s", guard, strength, in.Operation, kind, result, address, values)
}

func (k *kernel) branch(thread int, in *Instruction) (reason string) {
	if in.Operation == "" {
		return k.write("bra at%d_%d", thread, in.Target)
	}
	a, b := k.together(thread, in.Operands[0]), k.together(thread, in.Operands[1])
	k.write("setp.%s.s32 %%p, %s, %s", in.Operation, a, b)
	return k.write("@%%p bra at%d_%d", thread, in.Target)
}
