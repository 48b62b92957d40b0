package exec

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"gpurun/cudart/sim/tensorcore"
)

// storedMatrix is a matrix of small numbers in memory.
type storedMatrix struct {
	name, typ     string
	rows, columns int
	rowMajor      bool
	gap           int // bytes between lines
	registers     int
}

func (m storedMatrix) layout() string {
	if m.rowMajor {
		return "row"
	}
	return "col"
}

// stride is the elements from line to line.
func (m storedMatrix) stride() int {
	line := m.columns
	if !m.rowMajor {
		line = m.rows
	}
	return line + 8*m.gap/smallNumbers[m.typ].bits
}

// index is where an element is among those in memory.
func (m storedMatrix) index(row, column int) int {
	if m.rowMajor {
		return row*m.stride() + column
	}
	return column*m.stride() + row
}

// wmmaTest is a product by wmma of matrices that lie wmmaBytes apart.
type wmmaTest struct {
	mmaTest
	space      string // with the dot, or "" for generic addresses
	a, b, c, d storedMatrix
	types      string
}

const wmmaBytes = 4096

func newWMMATest(tt mmaTest, start string, layouts, gap int, space string) wmmaTest {
	registers := func(m storedMatrix) storedMatrix {
		bits := smallNumbers[m.typ].bits
		m.registers = m.rows * m.columns * bits / 32 / max(32, bits)
		if m.typ == "f16" && (m.name == "a" || m.name == "b") {
			m.registers = 8
		}
		return m
	}
	major := func(bit int) bool { return layouts>>bit&1 == 0 }
	w := wmmaTest{mmaTest: tt, space: space, types: strings.Join([]string{tt.d, tt.a, tt.b, start}, ".")}
	rowA, rowB := major(0), major(1)
	if smallNumbers[tt.a].bits < 8 {
		rowA, rowB = true, false
	}
	if tt.a == "f16" {
		w.types = tt.d + "." + start
	}
	w.a = registers(storedMatrix{"a", tt.a, tt.m, tt.k, rowA, gap, 0})
	w.b = registers(storedMatrix{"b", tt.b, tt.k, tt.n, rowB, gap, 0})
	w.c = registers(storedMatrix{"c", start, tt.m, tt.n, major(2), gap, 0})
	w.d = registers(storedMatrix{"d", tt.d, tt.m, tt.n, major(3), gap, 0})
	return w
}

// text moves the matrices to the state space, multiplies, and moves them back. Where there is no gap, the
// stride is left out.
func (w wmmaTest) text() string {
	stride := func(m storedMatrix) string {
		if m.gap == 0 {
			return ""
		}
		return fmt.Sprintf(", %d", m.stride())
	}
	var declare, body strings.Builder
	shape := fmt.Sprintf("m%dn%dk%d", w.m, w.n, w.k)
	for i, m := range []storedMatrix{w.a, w.b, w.c} {
		fmt.Fprintf(&body, "wmma.load.%s.sync.aligned.%s.%s%s.%s {%s}, [%%p+%d]%s;\n",
			m.name, m.layout(), shape, w.space, m.typ, list(m.name, m.registers), i*wmmaBytes, stride(m))
	}
	for _, m := range []storedMatrix{w.a, w.b, w.c, w.d} {
		fmt.Fprintf(&declare, ".reg .b%d %%%s<%d>;\n", max(32, smallNumbers[m.typ].bits), m.name, m.registers)
	}
	fmt.Fprintf(&body, "wmma.mma%s.sync.aligned.%s.%s.%s.%s%s {%s}, {%s}, {%s}, {%s};\n", w.tail, w.a.layout(),
		w.b.layout(), shape, w.types, w.front,
		list("d", w.d.registers), list("a", w.a.registers), list("b", w.b.registers), list("c", w.c.registers))
	fmt.Fprintf(&body, "wmma.store.d.sync.aligned.%s.%s%s.%s [%%p+%d], {%s}%s;\n", w.d.layout(), shape, w.space, w.d.typ,
		3*wmmaBytes, list("d", w.d.registers), stride(w.d))
	move := map[string]string{
		".global": "mov.b64 %p, %at;", ".shared": "mov.u64 %p, tile;", "": "mov.u64 %p, tile; cvta.shared.u64 %p, %p;",
	}[w.space]
	return fmt.Sprintf(`.version 8.7
.target sm_90
.address_size 64
.visible .entry run(.param .u64 matrices)
{
	.reg .b64 %%at, %%p, %%from;
	.reg .b32 %%to, %%i, %%x;
	.reg .pred %%more;
	.shared .align 32 .b8 tile[%d];
	%s
	ld.param.u64 %%at, [matrices];
	mov.u32 %%i, %%tid.x;
	mad.wide.u32 %%from, %%i, 4, %%at;
	mov.u32 %%to, tile;
	mad.lo.u32 %%to, %%i, 4, %%to;
next:
	ld.global.b32 %%x, [%%from];
	st.shared.b32 [%%to], %%x;
	add.u64 %%from, %%from, 128;
	add.u32 %%to, %%to, 128;
	add.u32 %%i, %%i, 32;
	setp.lt.u32 %%more, %%i, %d;
	@%%more bra next;
	bar.warp.sync -1;
	%s
	%s
	bar.warp.sync -1;
	mov.u32 %%i, %%tid.x;
	mad.wide.u32 %%from, %%i, 4, %%at;
	mad.wide.u32 %%p, %%i, 4, %%p;
back:
	ld%s.b32 %%x, [%%p];
	st.global.b32 [%%from], %%x;
	add.u64 %%from, %%from, 128;
	add.u64 %%p, %%p, 128;
	add.u32 %%i, %%i, 32;
	setp.lt.u32 %%more, %%i, %d;
	@%%more bra back;
	ret;
}`, 4*wmmaBytes, declare.String(), wmmaBytes, move, body.String(), w.space, wmmaBytes)
}

func (w wmmaTest) run(t *testing.T, r, disorder *rand.Rand) {
	t.Helper()
	var mem memory
	base := mem.allocate(4 * wmmaBytes)
	image := mem.at(base)
	fill := func(i int, m storedMatrix) [][]int {
		numbers := smallNumbers[m.typ]
		out := make([][]int, m.rows)
		for row := range out {
			for column := range m.columns {
				x := numbers.random(r)
				if m.typ == "f16" {
					x %= 8
				}
				numbers.put(image[i*wmmaBytes:][:wmmaBytes], m.index(row, column), x)
				out[row] = append(out[row], x)
			}
		}
		return out
	}
	a, b, want := fill(0, w.a), fill(1, w.b), fill(2, w.c)
	k, _ := compileText(t, w.text()).Kernel("run")
	g, err := Launch(k, Config{
		Blocks: 1, Threads: 32, Params: words(base), Memory: &mem, SMs: 1, Clock: &ticks{}, TensorCores: tensorcore.Of(9),
		Disorder: disorder,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := finish(t, g); err != nil {
		t.Fatal(err)
	}
	for row := range want {
		for column, sum := range want[row] {
			for i := range w.k {
				sum += w.multiply(a[row][i], b[i][column])
			}
			if got := smallNumbers[w.d.typ].get(w.d.typ, image[3*wmmaBytes:], w.d.index(row, column)); got != sum {
				t.Fatalf("row %d, column %d is %d, want %d, of:\n%s", row, column, got, sum, w.text())
			}
		}
	}
}

// wmmaTests are all shapes and types.
func wmmaTests() (all []mmaTest, starts []string) {
	add := func(m, n, k int, d, a, c, front, tail string) {
		all = append(all, mmaTest{m: m, n: n, k: k, d: d, a: a, b: a, front: front, tail: tail})
		starts = append(starts, c)
	}
	for _, s := range [][2]int{{16, 16}, {32, 8}, {8, 32}} {
		m, n := s[0], s[1]
		for _, d := range []string{"f16", "f32"} {
			add(m, n, 16, d, "f16", "f16", "", "")
			add(m, n, 16, d, "f16", "f32", "", "")
		}
		add(m, n, 16, "f32", "bf16", "f32", "", "")
		for _, front := range []string{"", ".satfinite"} {
			add(m, n, 16, "s32", "s8", "s32", front, "")
			add(m, n, 16, "s32", "u8", "s32", front, "")
		}
	}
	add(16, 16, 8, "f32", "tf32", "f32", "", "")
	add(8, 8, 4, "f64", "f64", "f64", "", "")
	add(8, 8, 4, "f64", "f64", "f64", ".rn", "")
	add(8, 8, 32, "s32", "s4", "s32", "", "")
	add(8, 8, 32, "s32", "u4", "s32", ".satfinite", "")
	add(8, 8, 128, "s32", "b1", "s32", "", ".xor.popc")
	add(8, 8, 128, "s32", "b1", "s32", "", ".and.popc")
	return all, starts
}

func TestAllFormsOfWMMA(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	forms, starts := wmmaTests()
	number := 0
	for i, tt := range forms {
		for layouts := 0; layouts < 16; layouts += 3 {
			var disorder *rand.Rand
			if layouts%2 == 1 {
				disorder = rand.New(rand.NewPCG(uint64(layouts), 0))
			}
			number++
			space := []string{".global", ".shared", ""}[number%3]
			newWMMATest(tt, starts[i], layouts, number%2*16, space).run(t, r, disorder)
		}
	}
}
