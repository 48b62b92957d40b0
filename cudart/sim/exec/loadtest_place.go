package exec

import (
	"fmt"
	"strconv"
	"strings"

	"gpurun/cudart/sim/ptx"
)

// TestedElements are the elements of a load, as bits, that the code behind it compares with something.
func (s Site) TestedElements() uint32 {
	var all uint32
	for i, t := range s.kernel.loadTests(s.pc).elements {
		if t.chain != nil {
			all |= 1 << i
		}
	}
	return all
}

// Tested is a digest of the operands with which the code behind a load compares an element of a lane. It is the same
// for two executions that wait for the same value. ok is false where that cannot be told before the code has run.
func (p Place) Tested(lane, element int) (digest uint64, ok bool) {
	if p.warp == nil {
		return 0, false
	}
	last := &p.warp.grid.tested
	if last.tests == nil || last.pc != p.Site.pc {
		last.pc, last.tests = p.Site.pc, p.Site.kernel.loadTests(p.Site.pc)
	}
	t := &last.tests.elements[element&7]
	if t.chain == nil || !t.settled {
		return 0, false
	}
	for i := range t.operands {
		o := &t.operands[i]
		bits, known := o.of(p.warp, lane)
		if !known {
			return 0, false
		}
		digest = (digest ^ bits ^ uint64(o.pc)<<32) * 0x9e3779b97f4a7c15
		digest ^= digest >> 29
	}
	return digest, true
}

// TestText is how the code behind a load tests an element of a lane, such as "value - 5 > -1"; "" if that cannot be
// told.
func (p Place) TestText(lane, element int) string {
	t := p.Site.kernel.loadTests(p.Site.pc).elements[element&7]
	if t.chain == nil || !t.settled || p.warp == nil {
		return ""
	}
	text := "value"
	for _, s := range t.chain {
		in := p.Site.kernel.code[s.pc].inst
		other := ""
		for _, at := range s.others {
			o := operandOf(p.Site.kernel.code, s.pc, at)
			if bits, known := o.of(p.warp, lane); known {
				other = number(bits, in)
				break
			}
		}
		swapped := len(s.others) > 0 && s.others[0] == 0
		switch sign := signs[in.Op]; {
		case in.Op == "setp" && other != "":
			return compared(text, other, in, swapped)
		case in.Op == "mov" && len(registersOf(in.Args[0])) > 1:
			text = fmt.Sprintf("part %d of %s", s.part, text)
		case in.Op == "mov" || in.Op == "cvt":
		case sign == "" || other == "":
			return ""
		case swapped:
			text = fmt.Sprintf("(%s %s %s)", other, sign, text)
		default:
			text = fmt.Sprintf("(%s %s %s)", text, sign, other)
		}
	}
	return ""
}

// Equals is the number that the code behind a load compares an element of a lane with for equality, and with nothing
// computed of the element; ok is false where it does something else, or where that cannot be told.
func (p Place) Equals(lane, element int) (value uint64, ok bool) {
	t := p.Site.kernel.loadTests(p.Site.pc).elements[element&7]
	if len(t.chain) != 1 || len(t.operands) != 1 || !t.settled || p.warp == nil {
		return 0, false
	}
	in := p.Site.kernel.code[t.chain[0].pc].inst
	of, isType := ptx.ParseType(in.Mods[len(in.Mods)-1])
	if sign := relationSigns[in.Mods[0]]; !isType || sign != "==" && sign != "!=" {
		return 0, false
	}
	if of.Class == ptx.Float || of.Class == ptx.BFloat {
		return 0, false
	}
	value, ok = t.operands[0].of(p.warp, lane)
	return value & widthMask(of.Width()), ok
}

// signs are the operators of instructions of two sources.
var signs = map[string]string{
	"add": "+", "sub": "-", "and": "&", "or": "|", "xor": "^", "shl": "<<", "shr": ">>",
}

// relationSigns are the operators of setp.
var relationSigns = map[string]string{
	"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">=", "lo": "<", "ls": "<=", "hi": ">", "hs": ">=",
}

// compared is a comparison for people.
func compared(left, right string, in *ptx.Inst, swapped bool) string {
	sign := relationSigns[in.Mods[0]]
	if sign == "" {
		sign = in.Mods[0]
	}
	if swapped {
		left, right = right, left
	}
	if strings.HasPrefix(left, "(") {
		left = left[1 : len(left)-1]
	}
	return left + " " + sign + " " + right
}

// number is an operand of an instruction for people: signed, unless it is large and the type is not signed.
func number(bits uint64, in *ptx.Inst) string {
	const large = 1 << 16
	for _, m := range in.Mods {
		t, ok := ptx.ParseType(m)
		if !ok {
			continue
		}
		bits &= widthMask(t.Width())
		signed := int64(bits) << (64 - t.Width()) >> (64 - t.Width())
		if t.Class == ptx.Signed || signed < 0 && signed > -large {
			return strconv.FormatInt(signed, 10)
		}
	}
	if bits < large {
		return strconv.FormatUint(bits, 10)
	}
	return fmt.Sprintf("%#x", bits)
}

// operandOf is the source of an op, by its place among the sources.
func operandOf(code []op, pc int32, at int) testOperand {
	o := &code[pc]
	slots := [...]int32{o.a, o.b, o.c}
	switch a := o.inst.Args[at+1]; {
	case a.Kind == ptx.Immediate:
		return testOperand{pc: pc, known: true, bits: a.Bits}
	case a.Kind == ptx.Register && o.inst.Op == "setp" && at > 1: // the predicate of .and
		return testOperand{pc: pc, known: true}
	case a.Whole() && at < len(slots) && slots[at] > 0:
		return testOperand{pc: pc, known: true, register: true, slot: slots[at]}
	}
	return testOperand{pc: pc}
}

// of is what an operand of a lane holds.
func (o *testOperand) of(w *warp, lane int) (bits uint64, known bool) {
	if o.register {
		return w.valueOf(o.slot, lane), true
	}
	return o.bits, o.known
}

// valueOf is what a lane's register holds, in whatever form.
func (w *warp) valueOf(slot int32, lane int) uint64 {
	if w.forms[slot]&isAffine != 0 {
		return w.affines[slot].at(lane)
	}
	return w.regs[slot][lane]
}
