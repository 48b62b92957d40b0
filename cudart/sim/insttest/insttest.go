// Package insttest has a table of PTX instructions for tests: each with the result that Go's own
// arithmetic or math/big gives, and with the least target and PTX version that have it. The same
// rows run in the executor's tests, and on a GPU beside the simulator.
package insttest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Func computes an instruction's result from operands a, b and c. Bits above the width of a register
// are ignored in operands and results.
type Func func(a, b, c uint64) uint64

// Target is what a module must name for its instructions: .target and .version.
type Target struct {
	SM           int
	Feature      string // "a" or ""
	Major, Minor int
}

// Header is the beginning of a module for the target.
func (t Target) Header() string {
	return fmt.Sprintf(".version %d.%d\n.target sm_%d%s\n.address_size 64\n", t.Major, t.Minor, t.SM, t.Feature)
}

// Row is one PTX statement, or a few, on registers d, a, b and c and predicates p and q.
type Row struct {
	Text  string
	Types string // of d, a, b, c, as many as there are, such as "b32 f32"
	Want  Func   // nil where only a GPU can tell
	Near  Near   // in place of Want where the ISA bounds an error
	// Alone keeps the row off GPUs: it is one of the forms of video instructions that the driver
	// emulates by other rules than the ISA's.
	Alone bool
}

// Near reports whether a result is as near as the ISA demands.
type Near func(got, a, b uint64) bool

// Group is rows of one subject that need the same target.
type Group struct {
	Name string
	Target
	Rows []Row
}

// Groups is the whole table.
func Groups() []Group {
	groups := slices.Concat(integerGroups(), bitGroups(), floatGroups(), halfGroups(), compareGroups(), convertGroups(),
		videoGroups(), approximateGroups(),
		memoryGroups(), warpGroups())
	for _, g := range groups { // some come out of maps
		slices.SortFunc(g.Rows, func(a, b Row) int { return cmp.Compare(a.Text, b.Text) })
	}
	return groups
}

// Targets that rows need.
var (
	sm80     = Target{SM: 80, Major: 7, Minor: 8}
	sm80lop3 = Target{SM: 80, Major: 8, Minor: 2}
	sm86     = Target{SM: 86, Major: 7, Minor: 8}
	sm89     = Target{SM: 89, Major: 8, Minor: 1}
	sm90     = Target{SM: 90, Major: 8, Minor: 1}
	// sm90wide is where accesses and atomic operations on .b128 are.
	sm90wide = Target{SM: 90, Major: 8, Minor: 4}
	// sm90fences is where fences of shared memory alone are.
	sm90fences = Target{SM: 90, Major: 8, Minor: 6}
	// sm100 is where mixed precision, pairs of singles and minima of three are.
	sm100 = Target{SM: 100, Major: 8, Minor: 8}
	// sm100a is where floats of 4 and 6 bits are.
	sm100a = Target{SM: 100, Feature: "a", Major: 8, Minor: 6}
)

// list collects the rows of a group.
type list []Row

func (l *list) add(types, text string, want Func) {
	*l = append(*l, Row{Text: text, Types: types, Want: want})
}

// RowBytes is the size of a row of operands in memory: d, a, b and c in 8 bytes each.
const RowBytes = 32

// Sentinel is what d holds in memory before the kernel runs.
const Sentinel = 0x5a5a5a5a5a5a5a5a

// Active reports whether the lane with a row of operands executes the instruction: in every second
// warp half of the lanes do, and the others keep their d.
func Active(row int) bool { return row&33 != 32 }

// WriteKernel writes an entry that applies a row to operands in memory.
func WriteKernel(w *strings.Builder, name string, row Row) {
	fmt.Fprintf(w, `
.visible .entry %s(.param .u64 rows)
{
	.reg .b64 %%base, %%offset;
	.reg .b32 %%row, %%block, %%size, %%odd;
	.reg .pred p, q, %%active;
	ld.param.u64 %%base, [rows];
	mov.u32 %%row, %%tid.x;
	mov.u32 %%block, %%ctaid.x;
	mov.u32 %%size, %%ntid.x;
	mad.lo.u32 %%row, %%block, %%size, %%row;
	mul.wide.u32 %%offset, %%row, %d;
	add.s64 %%base, %%base, %%offset;
	and.b32 %%odd, %%row, 33;
	setp.ne.u32 %%active, %%odd, 32;
`, name, RowBytes)
	for i, t := range strings.Fields(row.Types) {
		register := "dabc"[i : i+1]
		fmt.Fprintf(w, "\t.reg .%s %s;\n\tld.global.%s %s, [%%base+%d];\n", t, register, t, register, 8*i)
	}
	fmt.Fprintf(w, "\t@!%%active bra DONE;\n\t%s\nDONE:\n\tst.global.%s [%%base], d;\n\tret;\n}\n", row.Text,
		strings.Fields(row.Types)[0])
}

// Module is a module with the kernels k0, k1 and so on of some rows.
func Module(target Target, rows []Row) string {
	var text strings.Builder
	text.WriteString(target.Header())
	for i, row := range rows {
		WriteKernel(&text, fmt.Sprintf("k%d", i), row)
	}
	return text.String()
}

// Width is the number of bits of a register type, such as "b32".
func Width(typ string) int {
	var bits int
	fmt.Sscan(typ[1:], &bits)
	return bits
}

// Mask keeps the bits of a register type.
func Mask(typ string) uint64 { return 1<<Width(typ) - 1 }
