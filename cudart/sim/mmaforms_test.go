package sim

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
)

// operandType is a type of matrix elements in registers.
type operandType struct {
	bits, exponent int // exponent bits of a float; 0 of others
}

var operandTypes = map[string]operandType{
	"f16": {16, 5}, "bf16": {16, 8}, "tf32": {32, 8}, "e4m3": {8, 4}, "e5m2": {8, 5}, "f64": {64, 11}, "f32": {32, 8},
	"s32": {32, 0}, "s8": {8, 0}, "u8": {8, 0}, "s4": {4, 0}, "u4": {4, 0}, "b1": {1, 0},
}

// operand is the registers of a lane that hold an operand.
type operand struct {
	typ string
	n   int
}

// width is that of a register.
func (o operand) width() int { return max(32, operandTypes[o.typ].bits) }

func (o operand) bytes() int { return o.n * o.width() / 8 }

// list is the registers in braces.
func (o operand) list(name string) string {
	var all []string
	for i := range o.n {
		all = append(all, fmt.Sprintf("%%%s%d", name, i))
	}
	return "{" + strings.Join(all, ", ") + "}"
}

// mmaForm is an instruction of a warp on registers alone: d = a*b + c.
type mmaForm struct {
	head       string // version and target
	name       string
	d, a, b, c operand
	metadata   *sparseForm // nil if A is dense
}

func (f mmaForm) laneBytes() int {
	n := f.a.bytes() + f.b.bytes() + f.c.bytes() + f.d.bytes()
	if f.metadata != nil {
		n += 4
	}
	return n
}

// text is a kernel of a warp in each block. A lane has a, b, c and d one after the other.
func (f mmaForm) text() string {
	var declare, load, store strings.Builder
	at := 0
	for _, o := range []struct {
		name string
		operand
	}{{"a", f.a}, {"b", f.b}, {"c", f.c}, {"d", f.d}} {
		fmt.Fprintf(&declare, "\t.reg .b%d %%%s<%d>;\n", o.width(), o.name, o.n)
		for i := range o.n {
			if o.name == "d" {
				fmt.Fprintf(&store, "\tst.global.b%d [%%at+%d], %%d%d;\n", o.width(), at, i)
			} else {
				fmt.Fprintf(&load, "\tld.global.b%d %%%s%d, [%%at+%d];\n", o.width(), o.name, i, at)
			}
			at += o.width() / 8
		}
	}
	sparse := ""
	if f.metadata != nil {
		fmt.Fprintf(&load, "\tld.global.b32 %%e, [%%at+%d];\n", at)
		sparse = fmt.Sprintf(", %%e, %d", f.metadata.selector)
	}
	return f.head + fmt.Sprintf(`
.address_size 64
.visible .entry k(.param .u64 lanes)
{
	.reg .b64 %%at;
	.reg .b32 %%lane, %%i, %%e;
%s	ld.param.u64 %%at, [lanes];
	cvta.to.global.u64 %%at, %%at;
	mov.u32 %%lane, %%tid.x;
	mov.u32 %%i, %%ctaid.x;
	mad.lo.u32 %%lane, %%i, 32, %%lane;
	mad.wide.u32 %%at, %%lane, %d, %%at;
%s	%s %s, %s, %s, %s%s;
%s	ret;
}
`, declare.String(), f.laneBytes(), load.String(), f.name, f.d.list("d"), f.a.list("a"), f.b.list("b"), f.c.list("c"), sparse,
		store.String())
}

// data is the lanes of so many blocks of each kind of numbers.
func (f mmaForm) data(r *rand.Rand, ofEach int) []byte {
	var out []byte
	for range ofEach {
		for _, kind := range productKinds() {
			for range 32 {
				out = kind.fill(r, out, f.a, kind.low, kind.high)
				out = kind.fill(r, out, f.b, kind.low, kind.high)
				out = kind.fill(r, out, f.c, kind.start[0], kind.start[1])
				out = append(out, make([]byte, f.d.bytes())...)
				if f.metadata != nil {
					out = f.metadata.append(r, out)
				}
			}
		}
	}
	return out
}

// fill appends the registers of an operand: floats of the kind, integers of any bits, or accumulators of
// integers that are small or near the limits.
func (k productKind) fill(r *rand.Rand, out []byte, o operand, low, high int) []byte {
	t := operandTypes[o.typ]
	for range o.bytes() * 8 / max(8, t.bits) {
		v := r.Uint64()
		switch {
		case t.exponent > 0:
			v = k.number(r, t.bits, t.exponent, low, high)
		case o.typ == "s32" && r.IntN(2) == 0:
			v = uint64(int64(r.IntN(3)-1)<<31) + uint64(r.IntN(20000)-10000)
		}
		out = append(out, binary.LittleEndian.AppendUint64(nil, v)[:max(8, t.bits)/8]...)
	}
	return out
}

const (
	headOfAmpere = ".version 7.1\n.target sm_80"
	headOfHopper = ".version 8.4\n.target sm_90"
)

// operandOf is the registers for so many elements of a warp.
func operandOf(typ string, elements int) operand {
	return operand{typ, elements * operandTypes[typ].bits / 32 / max(32, operandTypes[typ].bits)}
}

// newMMAForm is mma.sync of a shape with 8 columns.
func newMMAForm(head, shape, modifiers, d, a, b string, k int) mmaForm {
	m := 16
	if strings.HasPrefix(shape, "m8") {
		m = 8
	}
	return mmaForm{
		head: head, name: fmt.Sprintf("mma.sync.aligned.%s.row.col%s.%s.%s.%s.%s", shape, modifiers, d, a, b, d),
		d: operandOf(d, m*8), a: operandOf(a, m*k), b: operandOf(b, 8*k), c: operandOf(d, m*8),
	}
}

// mmaForms are all forms of mma.sync.
func mmaForms() []mmaForm {
	return slices.Concat(floatForms(), integerForms(), bitForms(), sparseForms(), quadForms())
}

func floatForms() (all []mmaForm) {
	floats := func(head, a, b string, ks []int, ds ...string) {
		for _, k := range ks {
			for _, d := range ds {
				all = append(all, newMMAForm(head, fmt.Sprintf("m16n8k%d", k), "", d, a, b, k))
			}
		}
	}
	floats(headOfAmpere, "f16", "f16", []int{8, 16}, "f16", "f32")
	floats(headOfAmpere, "bf16", "bf16", []int{8, 16}, "f32")
	floats(headOfAmpere, "tf32", "tf32", []int{4, 8}, "f32")
	floats(headOfHopper, "f64", "f64", []int{4, 8, 16}, "f64")
	all = append(all, newMMAForm(headOfAmpere, "m8n8k4", "", "f64", "f64", "f64", 4))
	for _, a := range []string{"e4m3", "e5m2"} {
		for _, b := range []string{"e4m3", "e5m2"} {
			floats(headOfHopper, a, b, []int{32}, "f32")
			floats(".version 8.7\n.target sm_90", a, b, []int{16}, "f32", "f16")
			floats(".version 8.7\n.target sm_90", a, b, []int{32}, "f16")
		}
	}
	return all
}

func integerForms() (all []mmaForm) {
	for bits, k := range map[int]int{8: 16, 4: 32} {
		for _, signs := range []string{"ss", "su", "us", "uu"} {
			a, b := fmt.Sprint(signs[:1], bits), fmt.Sprint(signs[1:], bits)
			for _, saturate := range []string{"", ".satfinite"} {
				all = append(all,
					newMMAForm(headOfAmpere, fmt.Sprintf("m8n8k%d", k), saturate, "s32", a, b, k),
					newMMAForm(headOfAmpere, fmt.Sprintf("m16n8k%d", k), saturate, "s32", a, b, k),
					newMMAForm(headOfAmpere, fmt.Sprintf("m16n8k%d", 2*k), saturate, "s32", a, b, 2*k))
			}
		}
	}
	return all
}

func bitForms() (all []mmaForm) {
	for _, how := range []string{"xor", "and"} {
		for shape, k := range map[string]int{"m8n8k128": 128, "m16n8k128": 128, "m16n8k256": 256} {
			f := newMMAForm(headOfAmpere, shape, "", "s32", "b1", "b1", k)
			f.name += "." + how + ".popc"
			all = append(all, f)
		}
	}
	return all
}

// quadForms are mma.m8n8k4 of .f16, which multiplies four times.
func quadForms() (all []mmaForm) {
	registers := map[string]int{"f16": 4, "f32": 8}
	for _, layouts := range []string{"row.row", "row.col", "col.row", "col.col"} {
		for _, types := range [][2]string{{"f16", "f16"}, {"f32", "f16"}, {"f32", "f32"}} {
			d, c := types[0], types[1]
			all = append(all, mmaForm{
				head: headOfAmpere, name: fmt.Sprintf("mma.sync.aligned.m8n8k4.%s.%s.f16.f16.%s", layouts, d, c),
				d: operand{d, registers[d]}, a: operand{"f16", 2}, b: operand{"f16", 2}, c: operand{c, registers[c]},
			})
		}
	}
	return all
}
