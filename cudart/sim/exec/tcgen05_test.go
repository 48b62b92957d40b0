package exec

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// tensorKernel is a kernel for blocks of 128 threads that copies 64 KiB of what in points at to shared memory, a part for
// each block, and D with 64 columns or more to tensor memory. It executes a body, and copies D back to where it was. The body is
// executed by one thread in front of tcgen05.commit, and by the first block of a pair alone. In it, %d is the address of D,
// %a and %b are the descriptors, and %i is the instruction's.
func tensorKernel(group int, body string) string {
	g := fmt.Sprintf("cta_group::%d", group)
	commit := "tcgen05.commit." + g + ".mbarrier::arrive::one.shared::cluster.b64 [done];"
	sync := "bar.sync 0;"
	if group == 2 {
		commit = "tcgen05.commit." + g + ".mbarrier::arrive::one.shared::cluster.multicast::cluster.b64 [done], %both;"
		sync = "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;"
	}
	return strings.NewReplacer("GROUP", g, "BODY", body, "COMMIT", commit, "SYNC", sync).Replace(`
.version 8.7
.target sm_100a
.address_size 64
.visible .entry run(.param .u64 in, .param .u64 a, .param .u64 b, .param .u32 i, .param .u32 columns)
{
	.reg .b16 %both;
	.reg .b64 %in, %at, %out, %a, %b, %mask;
	.reg .b32 %thread, %s, %x, %y, %z, %w, %n, %i, %d, %e, %q, %columns, %rank, %p<8>;
	.reg .pred p, first, leader, yes;
	.shared .align 1024 .b8 tile[65536];
	.shared .align 8 .b8 done[8];
	.shared .align 4 .b8 address[4];
	ld.param.u64 %in, [in];
	ld.param.u64 %a, [a];
	ld.param.u64 %b, [b];
	ld.param.u32 %i, [i];
	ld.param.u32 %columns, [columns];
	mov.u32 %rank, %cluster_ctarank;
	mad.wide.u32 %in, %rank, 393216, %in;
	mov.u32 %thread, %tid.x;
	mad.wide.u32 %at, %thread, 16, %in;
	mad.wide.u32 %out, %thread, 4, %in;
	add.u64 %out, %out, 65536;
	mov.u32 %s, tile;
	mad.lo.u32 %s, %thread, 16, %s;
	mov.u32 %n, 0;
fill:
	ld.global.v4.b32 {%x, %y, %z, %w}, [%at];
	st.shared.v4.b32 [%s], {%x, %y, %z, %w};
	add.u64 %at, %at, 2048;
	add.u32 %s, %s, 2048;
	add.u32 %n, %n, 1;
	setp.lt.u32 p, %n, 32;
	@p bra fill;
	fence.proxy.async.shared::cta;
	setp.eq.u32 first, %thread, 0;
	mov.pred yes, -1;
	mov.u16 %both, 3;
	@first mbarrier.init.shared.b64 [done], 1;
	setp.ge.u32 p, %thread, 32;
	@p bra allocated;
	tcgen05.alloc.GROUP.sync.aligned.shared::cta.b32 [address], 512;
	tcgen05.relinquish_alloc_permit.GROUP.sync.aligned;
allocated:
	SYNC
	ld.shared.b32 %d, [address];
	and.b32 %q, %thread, 96;
	shl.b32 %q, %q, 16;
	add.u32 %q, %q, %d;
	mov.u64 %at, %out;
	mov.u32 %n, 0;
store:
	ld.global.b32 %p0, [%at];
	ld.global.b32 %p1, [%at+512];
	tcgen05.st.sync.aligned.32x32b.x2.b32 [%q], {%p0, %p1};
	add.u64 %at, %at, 1024;
	add.u32 %q, %q, 2;
	add.u32 %n, %n, 2;
	setp.lt.u32 p, %n, %columns;
	@p bra store;
	tcgen05.wait::st.sync.aligned;
	tcgen05.fence::before_thread_sync;
	SYNC
	tcgen05.fence::after_thread_sync;
	setp.eq.u32 leader, %rank, 0;
	and.pred p, first, leader;
	@!p bra wait;
	BODY
	COMMIT
wait:
	mbarrier.try_wait.parity.shared.b64 p, [done], 0;
	@!p bra wait;
	tcgen05.fence::after_thread_sync;
	and.b32 %q, %thread, 96;
	shl.b32 %q, %q, 16;
	add.u32 %q, %q, %d;
	mov.u32 %n, 0;
load:
	tcgen05.ld.sync.aligned.32x32b.x4.b32 {%p0, %p1, %p2, %p3}, [%q];
	tcgen05.wait::ld.sync.aligned;
	st.global.b32 [%out], %p0;
	st.global.b32 [%out+512], %p1;
	st.global.b32 [%out+1024], %p2;
	st.global.b32 [%out+1536], %p3;
	add.u64 %out, %out, 2048;
	add.u32 %q, %q, 4;
	add.u32 %n, %n, 4;
	setp.lt.u32 p, %n, %columns;
	@p bra load;
	SYNC
	setp.ge.u32 p, %thread, 32;
	@p bra out;
	tcgen05.dealloc.GROUP.sync.aligned.b32 %d, 512;
out:
	ret;
}
`)
}

// Parts of a block's memory: shared memory, and tensor memory, column after column.
const (
	tensorShared = 65536
	tensorPart   = 393216
)

// tensorLayout is how a matrix lies in shared memory: the canonical layouts of CUTLASS's UMMA descriptors.
type tensorLayout struct {
	mnMajor bool
	swizzle int // bytes; 0 without, and 129 for 128 with 32-byte atomicity
	start   int
	lbo     int
	sbo     int
	phase   int // the number of the 128 bytes in which a pattern begins
}

func (l tensorLayout) bits() uint64 {
	mode := map[int]uint64{0: 0, 129: 1, 128: 2, 64: 4, 32: 6}[l.swizzle]
	return uint64(l.start>>4) | uint64(l.lbo>>4)<<16 | uint64(l.sbo>>4)<<32 | 1<<46 | uint64(l.phase)<<49 | mode<<61
}

// chunk is where 16 bytes lie: number i along the dimension that is contiguous, of element j across.
func (l tensorLayout) chunk(i, j int) int {
	wide, rows := l.swizzle/16, 8
	switch {
	case l.swizzle == 0 && l.mnMajor:
		return l.start + i*l.sbo + j%8*16 + j/8*l.lbo
	case l.swizzle == 0:
		return l.start + i*l.lbo + j%8*16 + j/8*l.sbo
	case l.swizzle == 129:
		rows = 4
	}
	at := l.start + i%wide*16 + j%rows*wide*16 + j/rows*l.sbo
	if l.mnMajor {
		at += i / wide * l.lbo
	}
	if l.swizzle == 129 {
		return at ^ at>>7%4<<5
	}
	return at ^ (at>>7-l.phase)%wide<<4
}

// packedTensor is a layout without gaps of a matrix of so many rows, of 32 bytes along K.
func packedTensor(mnMajor bool, swizzle, start, rows, perChunk int) tensorLayout {
	l := tensorLayout{mnMajor: mnMajor, swizzle: swizzle, start: start}
	wide, across := swizzle&^1, 8
	if swizzle == 129 {
		across = 4
	}
	switch {
	case swizzle == 0 && mnMajor:
		l.lbo, l.sbo = 128*(rows/perChunk), 128
	case swizzle == 0:
		l.lbo, l.sbo = 128, 256
	case mnMajor:
		l.sbo = across * wide
		l.lbo = l.sbo * 2 * perChunk / across
	default:
		l.sbo = 8 * wide
	}
	return l
}

// testElement is a format of the elements of A and B.
type testElement struct {
	number         uint32 // in the instruction descriptor
	bits           int    // in shared memory
	exponent, frac int    // bits; 0 of integers
}

// encode is the bits of a small integer.
func (f testElement) encode(v int) uint64 {
	if f.exponent == 0 {
		return uint64(v) & 0xff
	}
	sign, bias := uint64(0), 1<<(f.exponent-1)-1
	if v < 0 {
		sign, v = 1<<(f.exponent+f.frac), -v
	}
	if v == 0 {
		return sign
	}
	e := 0
	for v>>(e+1) != 0 {
		e++
	}
	return sign | uint64(e+bias)<<f.frac | uint64(v-1<<e)<<f.frac>>e
}

var testElements = map[string]testElement{
	"f16": {0, 16, 5, 10}, "bf16": {1, 16, 8, 7}, "tf32": {2, 32, 8, 23},
	"e4m3": {0, 8, 4, 3}, "e5m2": {1, 8, 5, 2}, "e2m3": {3, 6, 2, 3}, "e3m2": {4, 6, 3, 2}, "e2m1": {5, 4, 2, 1},
	"u8": {0, 8, 0, 0}, "s8": {1, 8, 0, 0}, "packed": {1, 4, 2, 1},
}

// tensorTest is a product of small integers.
type tensorTest struct {
	kind, typeA, typeB string
	m, n               int
	group              int // 1 if 0
	a, b               tensorLayout
	ws, aInTensor      bool
	negate             [2]bool
	noInput            bool // D is not added
	halfD, saturate    bool
	scaleD             int
	disabled           uint32 // lanes of each 32
	lane               int    // of D, and of A in tensor memory
	scales             int    // factors of a row
	e4m3               bool
	scaleID            int
	mask               uint64 // zero-column mask
	shift              uint32 // bits 30 and 31 of the instruction descriptor
}

// columns of tensor memory: D is in the first 256.
const (
	columnOfA      = 256
	columnOfScaleA = 288
	columnOfScaleB = 320
	allTestColumns = 384
)

func (m tensorTest) idesc() uint32 {
	a, b := testElements[m.typeA], testElements[m.typeB]
	d := a.number<<7 | b.number<<10 | uint32(m.n/8)<<17 | uint32(m.m/16)<<24 | m.shift<<30
	flag := func(yes bool, bit int) {
		if yes {
			d |= 1 << bit
		}
	}
	flag(m.negate[0], 13)
	flag(m.negate[1], 14)
	flag(m.a.mnMajor, 15)
	flag(m.b.mnMajor, 16)
	switch {
	case m.scales > 0:
		flag(!m.e4m3, 23)
		d |= uint32(m.scaleID)<<29 | uint32(m.scaleID)<<4
	case m.kind == "i8":
		d |= 2 << 4
		flag(m.saturate, 3)
	case !m.halfD:
		d |= 1 << 4
	}
	return d
}

func (m tensorTest) text() string {
	a, end := "%a", ""
	if m.aInTensor {
		a = "[%x]"
	}
	switch {
	case m.scales > 0:
		end = ", [%y], [%z], "
	case m.disabled != 0:
		end = fmt.Sprintf(", {%s}, ", strings.TrimSuffix(strings.Repeat("%w, ", 4*m.group), ", "))
	default:
		end = ", "
	}
	if end += "yes"; m.noInput {
		end = strings.TrimSuffix(end, "yes") + "!yes"
	}
	if m.scaleD > 0 {
		end += fmt.Sprint(", ", m.scaleD)
	}
	ws, scale := "", ""
	if m.ws {
		ws = ".ws"
		if m.mask != 0 {
			end += ", %mask"
		}
	}
	if m.scales > 0 {
		scale = fmt.Sprintf(".block_scale.scale_vec::%dX", m.scales)
	}
	return fmt.Sprintf("add.u32 %%x, %%d, %d;\nadd.u32 %%y, %%d, %d;\nadd.u32 %%z, %%d, %d;\nmov.u64 %%mask, %#x;\nmov.b32 %%w, %#x;\n"+
		"add.u32 %%e, %%d, %d;\ntcgen05.mma%s.cta_group::%d.kind::%s%s [%%e], %s, %%b, %%i%s;\n",
		columnOfA+m.lane<<16, columnOfScaleA, columnOfScaleB, m.mask, m.disabled, m.lane<<16, ws, m.group, m.kind, scale, a, end)
}

// k is how many elements are multiplied.
func (m tensorTest) k() int {
	switch m.kind {
	case "f16":
		return 16
	case "tf32":
		return 8
	case "mxf4", "mxf4nvf4":
		return 64
	}
	return 32
}

// place writes an element of A or B to shared memory.
func (m tensorTest) place(shared []byte, l tensorLayout, f testElement, row, k, v int) {
	per := m.k() / 2 // of 16 bytes
	along, across := k, row
	if l.mnMajor {
		along, across = row, k
	}
	at, bit := l.chunk(along/per, across), along%per*f.bits
	word := f.encode(v) << (bit % 8)
	for i := 0; word != 0; i++ {
		shared[at+bit/8+i] |= byte(word)
		word >>= 8
	}
}

// placeOfTensorD is the block, the lane and the column of an element of D: the layouts that the PTX ISA calls A to G.
func (m tensorTest) placeOfTensorD(row, column int) (block, lane, col int) {
	rows := m.m / m.group
	block, row = row/rows, row%rows
	switch {
	case m.ws && m.m == 32: // G
		return block, row + column/(m.n/4)*32, column % (m.n / 4)
	case m.ws && m.m == 64, m.group == 2 && m.m == 128: // E, B
		return block, row + column/(m.n/2)*64, column % (m.n / 2)
	case m.m == 64: // F
		return block, row/16*32 + row%16 + m.lane, column
	}
	return block, row, column // A, D
}

// tensorWord is a word of a block's tensor memory.
func tensorWord(image []byte, block, lane, column int) []byte {
	return image[block*tensorPart+tensorShared+512*column+4*lane:]
}

func (m tensorTest) element(r *rand.Rand, typ string) int {
	switch typ {
	case "u8":
		return r.IntN(256)
	case "s8":
		return r.IntN(256) - 128
	}
	return r.IntN(9) - 4
}

// scaled writes random scale factors, and returns those of a row of A or a column of B: powers of two from 1 to 8.
func (m tensorTest) scale(r *rand.Rand, image []byte, column, rows int, halves bool) func(row, k int) int {
	all := make([][4]int, rows)
	for i := range all {
		for j := range m.scales {
			e := r.IntN(4)
			all[i][j] = 1 << e
			code := byte(127 + e)
			if m.e4m3 {
				code = byte(e+7) << 3
			}
			for b := range m.group {
				for q := range 4 {
					row := i
					if halves { // each half of the columns in two of the quarters
						if row = i - q/2*rows/2; row < 0 || row >= rows/2 {
							continue
						}
					}
					tensorWord(image, b, 32*q+row%32, column+row/32)[m.scaleID+j] = code
				}
			}
		}
	}
	return func(row, k int) int {
		if m.scales == 0 {
			return 1
		}
		return all[row][k/(m.k()/m.scales)]
	}
}

// run multiplies, and compares all of D.
func (m tensorTest) run(t *testing.T, r *rand.Rand, disorder *rand.Rand) {
	t.Helper()
	m.group = max(m.group, 1)
	var mem memory
	base := mem.allocate(2 * tensorPart)
	image := mem.at(base)
	want := m.fill(r, image)
	columns := allTestColumns
	if !m.aInTensor && m.scales == 0 {
		columns = m.n
	}
	g := launchKernel(t, compileText(t, tensorKernel(m.group, m.text())), "run", Config{
		Blocks: m.group, Cluster: m.group, Threads: 128, Memory: &mem, Disorder: disorder,
		Params: append(words(base, m.a.bits(), m.b.bits()), words(uint64(m.idesc())|uint64(columns)<<32)...),
	})
	if err := finish(t, g); err != nil {
		t.Fatalf("%+v: %v", m, err)
	}
	for i, w := range want {
		block, lane, col := m.placeOfTensorD(i/m.n, i%m.n)
		if got := binary.LittleEndian.Uint32(tensorWord(image, block, lane, col)); got != w {
			t.Fatalf("%+v: block %d, lane %d, column %d of D is %#x, want %#x", m, block, lane, col, got, w)
		}
	}
}

// fill writes random matrices, and returns what D is to become, row after row.
func (m tensorTest) fill(r *rand.Rand, image []byte) (want []uint32) {
	rows := m.m / m.group
	scaleB := m.scale(r, image, columnOfScaleB, m.n, m.group == 2 && m.m == 128)
	var scaleA [2]func(row, k int) int
	for i := range m.group {
		only := m
		only.group = 1
		scaleA[i] = only.scale(r, image[i*tensorPart:], columnOfScaleA, rows, false)
	}
	a, b := m.factors(r, image)
	for k := range m.k() {
		for row := range a {
			a[row][k] *= scaleA[row/rows](row%rows, k)
		}
		for column := range m.n {
			b[column][k] *= scaleB(column, k)
		}
	}
	for row := range m.m {
		for column := range m.n {
			block, lane, col := m.placeOfTensorD(row, column)
			source, sum := column, 0
			if m.mask != 0 {
				source = m.sourceColumn(column)
			}
			if source >= 0 {
				for k := range m.k() {
					sum += a[row][k] * b[source][k]
				}
			}
			if m.negate[0] != m.negate[1] {
				sum = -sum
			}
			want = append(want, m.sum(r, tensorWord(image, block, lane, col), sum, lane))
		}
	}
	return want
}

// factors writes random A and B, of which B has more columns where a mask shifts them.
func (m tensorTest) factors(r *rand.Rand, image []byte) (a, b [][64]int) {
	a, b = make([][64]int, m.m), make([][64]int, m.n)
	if m.mask != 0 {
		b = make([][64]int, m.n+32)
	}
	rows, columns := m.m/m.group, m.n/m.group
	for k := range m.k() {
		for row := range a {
			a[row][k] = m.element(r, m.typeA)
			if m.aInTensor {
				m.placeInTensor(image, row, k, a[row][k])
			} else {
				m.place(image[row/rows*tensorPart:], m.a, testElements[m.typeA], row%rows, k, a[row][k])
			}
		}
		for column := range b {
			b[column][k] = m.element(r, m.typeB)
			block := min(column/columns, m.group-1)
			m.place(image[block*tensorPart:], m.b, testElements[m.typeB], column-block*columns, k, b[column][k])
		}
	}
	return a, b
}

// placeInTensor writes an element of A to tensor memory, to all lanes where a layout has its row.
func (m tensorTest) placeInTensor(image []byte, row, k, v int) {
	f := testElements[m.typeA]
	bits := f.bits
	code := f.encode(v)
	if m.k() == 32 { // a byte for each
		if bits = 8; f.bits == 4 {
			code <<= 2
		}
	}
	for column := range m.n {
		block, lane, _ := m.placeOfTensorD(row, column)
		word := tensorWord(image, block, lane, columnOfA+k*bits/32)
		old := binary.LittleEndian.Uint32(word)
		at := k * bits % 32
		binary.LittleEndian.PutUint32(word, old&^(uint32(1<<bits-1)<<at)|uint32(code)<<at)
	}
}

// sum puts a random number where an element of D lies, and returns what a product makes of it.
func (m tensorTest) sum(r *rand.Rand, d []byte, product, lane int) uint32 {
	start := 16 * (r.IntN(200) - 100)
	encode := func(v int) uint32 {
		switch {
		case m.kind == "i8":
			return uint32(v)
		case m.halfD:
			return uint32(binary16.encode(float64(v), toNearestEven))
		}
		return math.Float32bits(float32(v))
	}
	if m.saturate {
		start = math.MaxInt32 - r.IntN(1000)
	}
	binary.LittleEndian.PutUint32(d, encode(start))
	switch {
	case m.disabled>>(lane%32)&1 != 0:
		return encode(start)
	case m.noInput:
		return encode(product)
	case m.saturate:
		return uint32(min(start+product, math.MaxInt32))
	}
	return encode(product + start>>m.scaleD)
}

// sourceColumn is the column of B that is multiplied for a column of D, or -1 where the zero-column mask has zeros: the
// mask of example 4 of the PTX ISA.
func (m tensorTest) sourceColumn(column int) int {
	each := m.n / (128 / m.m)
	zeros := [][2]string{{"", "1110000"}, {"11", "0000111"}, {"00", "1110000"}, {"000", "1110000"}}[column/each]
	at := column % each
	if at < len(zeros[0]) {
		if zeros[0][at] == '1' {
			return -1
		}
	} else if zeros[1][(at-len(zeros[0]))%7] == '1' {
		return -1
	}
	return column + 2
}

func TestTensorShapes(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, m := range []tensorTest{
		{m: 128, n: 16},
		{m: 128, n: 256},
		{m: 64, n: 8},
		{m: 64, n: 256},
		{m: 64, n: 24, lane: 16},
		{m: 32, n: 64, ws: true},
		{m: 64, n: 128, ws: true},
		{m: 128, n: 64, ws: true},
		{m: 32, n: 256, ws: true},
		{m: 128, n: 16, group: 2},
		{m: 128, n: 256, group: 2},
		{m: 256, n: 32, group: 2},
		{m: 256, n: 256, group: 2},
	} {
		m.kind, m.typeA, m.typeB = "f16", "bf16", "bf16"
		m.a, m.b = packedTensor(false, 128, 0, m.m, 8), packedTensor(false, 32, 32768, m.n, 8)
		m.run(t, r, nil)
		m.aInTensor = true
		m.run(t, r, rand.New(rand.NewPCG(uint64(m.m), uint64(m.n))))
	}
}

// typed is a product with packed layouts.
func (m tensorTest) typed(kind, a, b string, majors [2]bool, swizzles [2]int) tensorTest {
	m.kind, m.typeA, m.typeB = kind, a, b
	per := m.k() / 2
	m.a = packedTensor(majors[0], swizzles[0], 0, m.m, per)
	m.b = packedTensor(majors[1], swizzles[1], 32768, max(m.n, 64), per)
	return m
}

// Matrices lie in shared memory in all ways that descriptors can say.
func TestTensorDescriptors(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	swizzles := []int{0, 32, 64, 128}
	for i, typ := range []string{"bf16", "e4m3", "s8", "tf32"} {
		kind := map[string]string{"bf16": "f16", "e4m3": "f8f6f4", "s8": "i8", "tf32": "tf32"}[typ]
		for _, a := range swizzles {
			for j, major := range []bool{false, true} {
				if typ == "tf32" {
					a = 129
				}
				b := swizzles[(i+j+a/32)%4]
				if !major && typ == "tf32" {
					a = swizzles[i%4]
				}
				tensorTest{m: 128, n: 64}.typed(kind, typ, typ, [2]bool{major, false}, [2]int{a, b}).run(t, r, nil)
				tensorTest{m: 64, n: 128, group: 1}.typed(kind, typ, typ, [2]bool{false, major}, [2]int{b, a}).run(t, r, nil)
			}
		}
	}
	for start := 32; start < 128; start += 32 { // the next rows of 32 bytes along K, in one pattern
		m := tensorTest{m: 128, n: 32}.typed("f16", "f16", "f16", [2]bool{}, [2]int{128, 64})
		m.a.start, m.b.start = start, m.b.start+start%64
		m.run(t, r, nil)
	}
}

// A pattern may begin at any multiple of 128 bytes, if the descriptor says so.
func TestTensorBaseOffset(t *testing.T) {
	for phase := 1; phase < 8; phase++ {
		m := tensorTest{m: 128, n: 32}.typed("f16", "f16", "f16", [2]bool{}, [2]int{128, 64})
		m.a.start, m.a.phase = 128*phase, phase
		m.run(t, rand.New(rand.NewPCG(9, 9)), nil)
	}
}

// All types of elements are multiplied, with A in shared memory and in tensor memory.
func TestTensorKinds(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	small := []string{"e4m3", "e5m2", "e2m3", "e3m2", "e2m1"}
	both := func(m tensorTest) {
		t.Helper()
		m.run(t, r, nil)
		m.aInTensor = true
		m.run(t, r, nil)
	}
	for i, a := range small {
		for j, b := range small {
			m := tensorTest{m: 64, n: 8}.typed("f8f6f4", a, b, [2]bool{}, [2]int{128, 32})
			m.halfD = (i+j)%2 == 0
			m.run(t, r, nil)
		}
		both(tensorTest{m: 64, n: 16}.typed("f8f6f4", a, "e4m3", [2]bool{}, [2]int{64, 0}))
		m := tensorTest{m: 128, n: 48, scales: 1, scaleID: i % 4}
		both(m.typed("mxf8f6f4", a, small[(i+2)%5], [2]bool{}, [2]int{128, 128}))
	}
	for id := 0; id < 4; id += 2 {
		both(tensorTest{m: 128, n: 64, scales: 2, scaleID: id}.typed("mxf4", "packed", "packed", [2]bool{}, [2]int{128, 32}))
		both(tensorTest{m: 128, n: 24, scales: 2, scaleID: id}.typed("mxf4nvf4", "packed", "packed", [2]bool{}, [2]int{0, 64}))
	}
	for _, e4m3 := range []bool{false, true} {
		both(tensorTest{m: 128, n: 128, scales: 4, e4m3: e4m3}.typed("mxf4nvf4", "packed", "packed", [2]bool{}, [2]int{128, 128}))
	}
	for _, group := range []int{128, 256} {
		both(tensorTest{m: group, n: 64, group: 2, scales: 1}.typed("mxf8f6f4", "e4m3", "e5m2", [2]bool{}, [2]int{128, 128}))
		both(tensorTest{m: group, n: 64, group: 2}.typed("i8", "s8", "u8", [2]bool{}, [2]int{128, 128}))
	}
	m := tensorTest{m: 128, n: 32}.typed("i8", "u8", "u8", [2]bool{}, [2]int{32, 64})
	both(m)
	m.saturate = true
	both(m)
	m = tensorTest{m: 64, n: 8, halfD: true}.typed("f16", "f16", "bf16", [2]bool{}, [2]int{32, 64})
	both(m)
	both(tensorTest{m: 128, n: 96}.typed("tf32", "tf32", "tf32", [2]bool{}, [2]int{32, 64}))
}

func TestTensorOperands(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for i := range 16 {
		m := tensorTest{m: 128, n: 32, negate: [2]bool{i&1 != 0, i&2 != 0}, noInput: i&4 != 0, aInTensor: i&8 != 0}
		m.ws = false
		m.typed("f16", "bf16", "bf16", [2]bool{}, [2]int{128, 64}).run(t, r, rand.New(rand.NewPCG(uint64(i), 0)))
		w := tensorTest{m: []int{32, 64}[i%2], n: 64, ws: true, negate: m.negate, noInput: m.noInput, aInTensor: m.aInTensor}
		w.typed("tf32", "tf32", "tf32", [2]bool{}, [2]int{128, 64}).run(t, r, nil)
	}
	for _, half := range []bool{false, true} {
		tensorTest{m: 128, n: 32, scaleD: 3, halfD: half}.typed("f16", "f16", "f16", [2]bool{}, [2]int{128, 64}).run(t, r, nil)
	}
	for _, group := range []int{1, 2} {
		m := tensorTest{m: 128 * group, n: 32, group: group, disabled: 0x8000f00f}
		m.typed("f16", "f16", "f16", [2]bool{}, [2]int{128, 64}).run(t, r, nil)
		m.halfD = true
		m.typed("f16", "f16", "f16", [2]bool{}, [2]int{128, 64}).run(t, r, nil)
	}
	// {1, 2, 1, 0} {0, 0, 1, 1} 1 2 3 2
	m := tensorTest{m: 32, n: 128, ws: true, shift: 1, mask: 0x01020100 | 3<<32 | 1<<39 | 2<<40 | 3<<48 | 2<<56}
	m.typed("f8f6f4", "e4m3", "e4m3", [2]bool{}, [2]int{128, 64}).run(t, r, nil)
	m.typed("f8f6f4", "e4m3", "e4m3", [2]bool{false, true}, [2]int{128, 64}).run(t, r, nil)
}
