package sim

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// wmmaMatrix is one of the matrices of a product in memory.
type wmmaMatrix struct {
	typ           string
	rows, columns int
	layout        string // row or col
	gap           int    // elements between lines
	registers     int
}

// stride is the elements from one line to the next, and bytes all of them.
func (m wmmaMatrix) stride() int {
	if m.layout == "row" {
		return m.columns + m.gap
	}
	return m.rows + m.gap
}

func (m wmmaMatrix) bytes() int {
	lines := m.rows
	if m.layout == "col" {
		lines = m.columns
	}
	return (lines*m.stride()*operandTypes[m.typ].bits/8 + 31) / 32 * 32
}

func (m wmmaMatrix) operand() operand { return operand{m.typ, m.registers} }

// wmmaForm is a product by wmma.load, .mma and .store.
type wmmaForm struct {
	shape, mma string
	a, b, c, d wmmaMatrix
}

func (f wmmaForm) String() string {
	return fmt.Sprintf("%s, A %s, B %s, C %s, D %s", f.mma, f.a.layout, f.b.layout, f.c.layout, f.d.layout)
}

// fragmentBytes is what the registers of A, B and C take, which a block has behind D.
func (f wmmaForm) fragmentBytes() int {
	return 32 * 8 * (f.a.registers + f.b.registers + f.c.registers)
}

func (f wmmaForm) blockBytes() int {
	return f.a.bytes() + f.b.bytes() + f.c.bytes() + f.d.bytes() + f.fragmentBytes()
}

// text is a kernel of a warp in each block, which has the matrices one after the other.
func (f wmmaForm) text() string {
	var declare, load, dump strings.Builder
	at, lanes := 0, f.a.bytes()+f.b.bytes()+f.c.bytes()+f.d.bytes()
	for _, m := range []struct {
		name string
		wmmaMatrix
	}{{"a", f.a}, {"b", f.b}, {"c", f.c}, {"d", f.d}} {
		o := m.operand()
		fmt.Fprintf(&declare, "\t.reg .b%d %%%s<%d>;\n", o.width(), m.name, o.n)
		if m.name == "d" {
			break
		}
		fmt.Fprintf(&load, "\twmma.load.%s.sync.aligned.%s.%s.global.%s %s, [%%at+%d], %d;\n", m.name, m.layout, f.shape,
			m.typ, o.list(m.name), at, m.stride())
		for i := range o.n {
			fmt.Fprintf(&dump, "\tst.global.b%d [%%own+%d], %%%s%d;\n", o.width(), lanes, m.name, i)
			lanes += 32 * 8
		}
		at += m.bytes()
	}
	return fmt.Sprintf(`%s
.address_size 64
.visible .entry k(.param .u64 blocks)
{
	.reg .b64 %%at, %%own;
	.reg .b32 %%lane, %%i;
%s	ld.param.u64 %%at, [blocks];
	cvta.to.global.u64 %%at, %%at;
	mov.u32 %%i, %%ctaid.x;
	mad.wide.u32 %%at, %%i, %d, %%at;
	mov.u32 %%lane, %%tid.x;
	mad.wide.u32 %%own, %%lane, 8, %%at;
%s	%s %s, %s, %s, %s;
	wmma.store.d.sync.aligned.%s.%s.global.%s [%%at+%d], %s, %d;
%s	ret;
}
`, headOfAmpere, declare.String(), f.blockBytes(), load.String(),
		f.mma, f.d.operand().list("d"), f.a.operand().list("a"), f.b.operand().list("b"), f.c.operand().list("c"),
		f.d.layout, f.shape, f.d.typ, at, f.d.operand().list("d"), f.d.stride(), dump.String())
}

// data is so many blocks of each kind of numbers.
func (f wmmaForm) data(r *rand.Rand, ofEach int) []byte {
	var out []byte
	for range ofEach {
		for _, kind := range productKinds() {
			end := len(out) + f.blockBytes()
			fill := func(m wmmaMatrix, low, high int) {
				out = kind.fill(r, out, operand{m.typ, m.bytes() * 8 / max(32, operandTypes[m.typ].bits)}, low, high)
			}
			fill(f.a, kind.low, kind.high)
			fill(f.b, kind.low, kind.high)
			fill(f.c, kind.start[0], kind.start[1])
			out = append(out, make([]byte, end-len(out))...)
		}
	}
	return out
}

// wmmaForms are all forms of wmma, with layouts that change from one to the next.
func wmmaForms() (all []wmmaForm) {
	layouts := 0
	layout := func(fixed string) string {
		if layouts++; fixed != "" {
			return fixed
		}
		return []string{"row", "col"}[layouts*2654435761>>7&1]
	}
	add := func(m, n, k, registersA, registersB int, a, b, c, d, modifiers string) {
		fixedA, fixedB := "", ""
		bits := operandTypes[a].bits
		if bits < 8 {
			fixedA, fixedB = "row", "col"
		}
		f := wmmaForm{
			shape: fmt.Sprintf("m%dn%dk%d", m, n, k),
			a:     wmmaMatrix{a, m, k, layout(fixedA), 128 / bits * (layouts % 2), registersA},
			b:     wmmaMatrix{b, k, n, layout(fixedB), 128 / bits * (layouts % 3), registersB},
			c: wmmaMatrix{
				c, m, n, layout(""), 8 * (layouts % 2), m * n / 32 * operandTypes[c].bits / max(32, operandTypes[c].bits),
			},
			d: wmmaMatrix{
				d, m, n, layout(""), 8 * (layouts % 2), m * n / 32 * operandTypes[d].bits / max(32, operandTypes[d].bits),
			},
		}
		types := fmt.Sprintf("%s.%s.%s.%s", d, a, b, c)
		if a == "f16" {
			types = d + "." + c
		}
		combine := ""
		if a == "b1" {
			combine, modifiers = modifiers, ""
		}
		f.mma = fmt.Sprintf("wmma.mma%s.sync.aligned.%s.%s.%s.%s%s", combine, f.a.layout, f.b.layout, f.shape, types,
			modifiers)
		all = append(all, f)
	}
	for range 3 { // with several layouts
		for _, s := range [][2]int{{16, 16}, {32, 8}, {8, 32}} {
			m, n := s[0], s[1]
			for _, c := range []string{"f16", "f32"} {
				for _, d := range []string{"f16", "f32"} {
					add(m, n, 16, 8, 8, "f16", "f16", c, d, "")
				}
			}
			add(m, n, 16, m/4, n/4, "bf16", "bf16", "f32", "f32", "")
			for _, t := range []string{"s8", "u8"} {
				add(m, n, 16, m/8, n/8, t, t, "s32", "s32", "")
				add(m, n, 16, m/8, n/8, t, t, "s32", "s32", ".satfinite")
			}
		}
		add(16, 16, 8, 4, 4, "tf32", "tf32", "f32", "f32", "")
		add(8, 8, 4, 1, 1, "f64", "f64", "f64", "f64", "")
		add(8, 8, 4, 1, 1, "f64", "f64", "f64", "f64", ".rn")
		for _, t := range []string{"s4", "u4"} {
			add(8, 8, 32, 1, 1, t, t, "s32", "s32", "")
			add(8, 8, 32, 1, 1, t, t, "s32", "s32", ".satfinite")
		}
		add(8, 8, 128, 1, 1, "b1", "b1", "s32", "s32", ".xor.popc")
		add(8, 8, 128, 1, 1, "b1", "b1", "s32", "s32", ".and.popc")
	}
	return all
}
