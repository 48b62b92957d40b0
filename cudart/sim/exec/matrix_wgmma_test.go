package exec

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// wgmmaKernel is a kernel of a warpgroup that fills 32 KiB of shared memory with
// what %in points at, loads n accumulators a thread from behind it, executes a
// body on them, and stores them. The accumulators are %d0 to %d<n-1>; %a0 to %a3
// are registers of A; %descA and %descB are as given.
func wgmmaKernel(n int, body string) string {
	var load, store strings.Builder
	for i := range n {
		fmt.Fprintf(&load, "\tld.global.b32 %%d%d, [%%acc+%d];\n", i, 512*i)
		fmt.Fprintf(&store, "\tst.global.b32 [%%acc+%d], %%d%d;\n", 512*i, i)
	}
	for i := range 4 {
		fmt.Fprintf(&load, "\tld.global.b32 %%a%d, [%%acc+%d];\n", i, 512*(128+i))
	}
	return `
.version 8.5
.target sm_90a
.address_size 64
.visible .entry run(.param .u64 in, .param .u64 a, .param .u64 b)
{
	.reg .b64 %in, %at, %acc, %descA, %descB;
	.reg .b32 %tid, %s, %x, %y, %z, %w, %i, %d<128>, %a<4>;
	.reg .pred p, q, yes;
	.shared .align 1024 .b8 tile[32768];
	.shared .align 8 .b8 flag[8];
	ld.param.u64 %in, [in];
	ld.param.u64 %descA, [a];
	ld.param.u64 %descB, [b];
	mov.u32 %tid, %tid.x;
	mad.wide.u32 %acc, %tid, 4, %in;
	add.u64 %acc, %acc, 32768;
	mov.u32 %s, tile;
	mad.lo.u32 %s, %tid, 16, %s;
	mad.wide.u32 %at, %tid, 16, %in;
	mov.u32 %i, 0;
fill:
	ld.global.v4.b32 {%x, %y, %z, %w}, [%at];
	st.shared.v4.b32 [%s], {%x, %y, %z, %w};
	add.u64 %at, %at, 2048;
	add.u32 %s, %s, 2048;
	add.u32 %i, %i, 1;
	setp.lt.u32 p, %i, 16;
	@p bra fill;
	mov.pred yes, -1;
` + load.String() + `
	fence.proxy.async.shared::cta;
	bar.sync 0;
` + body + store.String() + `
	ret;
}
`
}

// inDescriptor is how a matrix lies in shared memory.
type inDescriptor struct {
	mnMajor         bool
	swizzle         int // bytes; 0 without
	start           int
	leading, stride int // bytes
}

func (l inDescriptor) bits() uint64 {
	mode := map[int]uint64{0: 0, 128: 1, 64: 2, 32: 3}[l.swizzle]
	return uint64(l.start>>4) | uint64(l.leading>>4)<<16 | uint64(l.stride>>4)<<32 | mode<<62
}

// place is where the element of a row (or column, of B) and a place along K lies. Patterns
// of 8 lines are laid out one by one; a line has as many units of 16 bytes as
// are swizzled, and the unit u of line l is found at u exclusive-or the number of
// 128 bytes before the line.
func (l inDescriptor) place(row, k int) int {
	along, across := k, row
	if l.mnMajor {
		along, across = row, k
	}
	line, pattern := across%8, across/8
	unit, within := along/8, along%8*2
	if l.swizzle == 0 { // a line is a unit; what is next along is another pattern
		alongStep, acrossStep := l.leading, l.stride
		if l.mnMajor {
			alongStep, acrossStep = l.stride, l.leading
		}
		return l.start + unit*alongStep + pattern*acrossStep + line*16 + within
	}
	units := l.swizzle / 16
	first := l.start / l.swizzle * l.swizzle // start may be within a line
	unit += (l.start - first) / 16
	at := first + pattern*l.stride + unit/units*l.leading
	return at + line*l.swizzle + (unit%units^line*l.swizzle/128)*16 + within
}

// multiplyTest is a matrix product of integers on 64 x 16 and 16 x n.
type multiplyTest struct {
	typ       string
	n         int
	a, b      inDescriptor
	registers bool // A comes from there
	negate    [2]bool
	noScale   bool   // d is not added
	sparse    string // ".sp": B has 32 elements along K
	selector  int
}

func sign(negate bool) int {
	if negate {
		return -1
	}
	return 1
}

func (m multiplyTest) text() string {
	a, majors := "%descA", fmt.Sprintf("%d, %d", flagOf(m.a.mnMajor), flagOf(m.b.mnMajor))
	if m.registers {
		a, majors = "{%a0, %a1, %a2, %a3}", fmt.Sprint(flagOf(m.b.mnMajor))
	}
	scale := "yes"
	if m.noScale {
		scale = "!yes"
	}
	if m.sparse != "" {
		scale = fmt.Sprintf("%%x, %d, %s", m.selector, scale)
	}
	return fmt.Sprintf("wgmma.mma_async%s.sync.aligned.m64n%dk%d.f32.%s.%s {%s}, %s, %%descB, %s, %d, %d, %s;",
		m.sparse, m.n, m.columnsOfB(), m.typ, m.typ, list("d", m.n/2), a, scale, sign(m.negate[0]), sign(m.negate[1]), majors)
}

func (m multiplyTest) columnsOfB() int {
	if m.sparse != "" {
		return 32
	}
	return 16
}

// metadata writes those of random rows, and returns which places along K a row holds.
func (m multiplyTest) metadata(r *rand.Rand, to []byte) func(row int) []int {
	var warps [4]sparseRows
	for i := range warps {
		warps[i] = randomRows(r, 8, 16, false)
		for lane, word := range warps[i].registers(16, m.selector) {
			binary.LittleEndian.PutUint32(to[4*(32*i+lane):], word)
		}
	}
	return func(row int) []int { return warps[row/16].held(row%16, 16) }
}

func flagOf(b bool) int {
	if b {
		return 1
	}
	return 0
}

// placeOfD is the thread of the warpgroup that holds an accumulator, and which
// of its registers, as the figure of the PTX ISA draws it.
func placeOfD(row, column int) (thread, register int) {
	return row/16*32 + row%8*4 + column%8/2, column/8*4 + row%16/8*2 + column%2
}

// run multiplies random integers and compares.
func (m multiplyTest) run(t *testing.T, r *rand.Rand, disorder *rand.Rand) {
	t.Helper()
	body := "ld.global.b32 %x, [%acc+67584];\nwgmma.fence.sync.aligned;\n" + m.text() +
		"\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n"
	var mem memory
	base := mem.allocate(32768 + 512*133)
	image, accumulators := mem.at(base), mem.at(base+32768)
	var a [64][16]int
	b, c := make([][32]int, m.n), make([][64]int, m.n)
	held := func(int) []int { return everyK(16) }
	if m.sparse != "" {
		held = m.metadata(r, accumulators[512*132:])
	}
	element := func(at, x int) {
		binary.LittleEndian.PutUint16(image[at:], uint16(sixteenBits(m.typ, x)))
	}
	for k := range 16 {
		for row := range 64 {
			a[row][k] = r.IntN(31) - 15
			if !m.registers {
				element(m.a.place(row, k), a[row][k])
				continue
			}
			lane, e := placeOfA(row%16, k)
			binary.LittleEndian.PutUint16(accumulators[512*(128+e/2)+4*(row/16*32+lane)+2*(e%2):],
				uint16(sixteenBits(m.typ, a[row][k])))
		}
	}
	for column := range m.n {
		for k := range m.columnsOfB() {
			b[column][k] = r.IntN(31) - 15
			element(m.b.place(column, k), b[column][k])
		}
	}
	for i := range 64 * m.n {
		row, column := i%64, i/64
		c[column][row] = r.IntN(2001) - 1000
		thread, register := placeOfD(row, column)
		binary.LittleEndian.PutUint32(accumulators[512*register+4*thread:], math.Float32bits(float32(c[column][row])))
	}
	g := launchKernel(t, compileText(t, wgmmaKernel(m.n/2, body)), "run",
		Config{Threads: 128, Params: words(base, m.a.bits(), m.b.bits()), Memory: &mem, Disorder: disorder})
	if err := finish(t, g); err != nil {
		t.Fatalf("%+v: %v", m, err)
	}
	for i := range 64 * m.n {
		row, column := i%64, i/64
		want := 0
		for j, k := range held(row) {
			want += a[row][j] * b[column][k]
		}
		want *= sign(m.negate[0]) * sign(m.negate[1])
		if !m.noScale {
			want += c[column][row]
		}
		thread, register := placeOfD(row, column)
		got := math.Float32frombits(binary.LittleEndian.Uint32(accumulators[512*register+4*thread:]))
		if got != float32(want) {
			t.Fatalf("%+v: row %d, column %d is %v, want %d", m, row, column, got, want)
		}
	}
}

// dense is a layout without gaps of so many rows, from a start that is a
// multiple of the pattern's size.
func dense(mnMajor bool, swizzle, start, rows int) inDescriptor {
	l := inDescriptor{mnMajor: mnMajor, swizzle: swizzle, start: start}
	switch {
	case swizzle == 0 && mnMajor: // 8 x 8 elements after each other, those along K last
		l.stride, l.leading = 128, 16*rows
	case swizzle == 0:
		l.leading, l.stride = 128, 256
	case mnMajor: // patterns of 8 along K, those of the next rows after two of them
		l.stride, l.leading = 8*swizzle, 16*swizzle
	default:
		l.stride, l.leading = 8*swizzle, 16 // leading is not used
	}
	return l
}

const startOfB = 16384

func TestWGMMAOfAllColumns(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for n := 8; n <= 256; n += 8 {
		multiplyTest{typ: "bf16", n: n, a: dense(false, 128, 0, 64), b: dense(false, 32, startOfB, n)}.run(t, r, nil)
	}
}

func TestWGMMAOfAllLayouts(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	var a, b []inDescriptor
	for _, mnMajor := range []bool{false, true} {
		for _, swizzle := range []int{0, 32, 64, 128} {
			a = append(a, dense(mnMajor, swizzle, 0, 64))
			b = append(b, dense(mnMajor, swizzle, startOfB, 64))
		}
		// With gaps, and without a swizzle also at any multiple of 16.
		b = append(b, inDescriptor{mnMajor: mnMajor, start: startOfB + 48, leading: 1280, stride: 144})
		a = append(a, inDescriptor{mnMajor: mnMajor, swizzle: 32, leading: 768, stride: 2048})
	}
	for i := range a {
		for j := range b {
			multiplyTest{typ: []string{"f16", "bf16"}[(i+j)%2], n: 64, a: a[i], b: b[j]}.run(t, r, nil)
		}
		multiplyTest{typ: "f16", n: 16, registers: true, b: b[i]}.run(t, r, nil)
	}
	// The second, third and fourth 16 elements along K of rows of 128 bytes.
	for start := 32; start < 128; start += 32 {
		a, b := dense(false, 128, start, 64), dense(false, 64, startOfB+start%64, 64)
		multiplyTest{typ: "f16", n: 64, a: a, b: b}.run(t, r, nil)
	}
}

func TestWGMMAOperands(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for i := range 16 {
		multiplyTest{
			typ: "bf16", n: 24, a: dense(false, 128, 0, 64), b: dense(false, 128, startOfB, 24),
			registers: i&1 != 0, negate: [2]bool{i&2 != 0, i&4 != 0}, noScale: i&8 != 0,
		}.run(t, r, rand.New(rand.NewPCG(uint64(i), 0)))
	}
}
