package exec

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// tensorBody is a kernel for blocks of 128 threads that allocates all of tensor memory, copies 8 KiB of what in points at to
// shared memory, and executes a body. %d is the address in the lanes of a warp, %out points at a word of each thread behind
// that, and %s is the address of the shared memory.
func tensorBody(body string) string {
	return `
.version 8.7
.target sm_100a
.address_size 64
.visible .entry run(.param .u64 in, .param .u64 desc)
{
	.reg .b64 %in, %at, %out, %desc;
	.reg .b32 %thread, %s, %x, %y, %z, %w, %n, %d, %q, %r<128>;
	.reg .pred p, first, yes;
	.shared .align 1024 .b8 tile[8192];
	.shared .align 8 .b8 done[8];
	.shared .align 4 .b8 address[4];
	ld.param.u64 %in, [in];
	ld.param.u64 %desc, [desc];
	mov.u32 %thread, %tid.x;
	mad.wide.u32 %at, %thread, 16, %in;
	mad.wide.u32 %out, %thread, 4, %in;
	add.u64 %out, %out, 8192;
	mov.u32 %s, tile;
	mad.lo.u32 %x, %thread, 16, %s;
	mov.u32 %n, 0;
fill:
	ld.global.v4.b32 {%y, %z, %w, %q}, [%at];
	st.shared.v4.b32 [%x], {%y, %z, %w, %q};
	add.u64 %at, %at, 2048;
	add.u32 %x, %x, 2048;
	add.u32 %n, %n, 1;
	setp.lt.u32 p, %n, 4;
	@p bra fill;
	fence.proxy.async.shared::cta;
	setp.eq.u32 first, %thread, 0;
	mov.pred yes, -1;
	@first mbarrier.init.shared.b64 [done], 1;
	setp.ge.u32 p, %thread, 32;
	@p bra allocated;
	tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address], 512;
allocated:
	bar.sync 0;
	ld.shared.b32 %d, [address];
	and.b32 %q, %thread, 96;
	shl.b32 %q, %q, 16;
	add.u32 %d, %d, %q;
` + body + `
	bar.sync 0;
	setp.ge.u32 p, %thread, 32;
	@p bra out;
	tcgen05.dealloc.cta_group::1.sync.aligned.b32 %d, 512;
out:
	ret;
}
`
}

// runTensorBody executes a body on words of input, and returns the words behind 8 KiB.
func runTensorBody(t *testing.T, body string, desc uint64, in []byte, disorder *rand.Rand) ([]byte, error) {
	t.Helper()
	var mem memory
	base := mem.allocate(8192 + 512*128)
	copy(mem.at(base), in)
	g := launchKernel(t, compileText(t, tensorBody(body)), "run",
		Config{Threads: 128, Params: words(base, desc), Memory: &mem, Disorder: disorder})
	err := finish(t, g)
	return mem.at(base)[8192:], err
}

// commitAndWait ends asynchronous operations of the first thread, for all.
const commitAndWait = `
	@first tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [done];
wait:
	mbarrier.try_wait.parity.shared.b64 p, [done], 0;
	@!p bra wait;
	tcgen05.fence::after_thread_sync;
`

// numberAll stores 1000*column + lane in so many columns, and loadTensorColumns loads them to the output.
func numberAll(columns int) string {
	var b strings.Builder
	for c := range columns {
		fmt.Fprintf(&b, "add.u32 %%r0, %%thread, %d;\nadd.u32 %%q, %%d, %d;\ntcgen05.st.sync.aligned.32x32b.x1.b32 [%%q], {%%r0};\n", 1000*c, c)
	}
	return b.String() + "tcgen05.wait::st.sync.aligned;\nbar.sync 0;\n"
}

func loadTensorColumns(columns int) string {
	return fmt.Sprintf("tcgen05.ld.sync.aligned.32x32b.x%d.b32 {%s}, [%%d];\ntcgen05.wait::ld.sync.aligned;\n", columns,
		list("r", columns)) + storeRegisters(columns)
}

func storeRegisters(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "st.global.b32 [%%out+%d], %%r%d;\n", 512*i, i)
	}
	return b.String()
}

func wordAt(out []byte, register, thread int) uint32 {
	return binary.LittleEndian.Uint32(out[512*register+4*thread:])
}

// tensorAtoms are the shapes of tcgen05.ld: of each lane of a warp and register, where an element is, by the strides of
// CUTLASS's layouts. A thread's bits are split by shape, and each part has a stride in rows and one in columns.
var tensorAtoms = map[string]struct {
	registers int // of .x1
	thread    [][3]int
	register  [][3]int // size, rows, columns
}{
	"32x32b":   {1, [][3]int{{32, 1, 0}}, [][3]int{{128, 0, 1}}},
	"16x64b":   {1, [][3]int{{2, 8, 0}, {2, 0, 1}, {8, 1, 0}}, [][3]int{{128, 0, 2}}},
	"16x128b":  {2, [][3]int{{4, 0, 1}, {8, 1, 0}}, [][3]int{{2, 8, 0}, {64, 0, 4}}},
	"16x256b":  {4, [][3]int{{4, 0, 2}, {8, 1, 0}}, [][3]int{{2, 0, 1}, {2, 8, 0}, {32, 0, 8}}},
	"16x32bx2": {1, [][3]int{{16, 1, 0}, {2, 0, -1}}, [][3]int{{128, 0, 1}}},
}

func atomPlace(parts [][3]int, at int) (row, column int) {
	for _, p := range parts {
		row, column = row+at%p[0]*p[1], column+at%p[0]*p[2]
		at /= p[0]
	}
	return row, column
}

// The shapes of tcgen05.ld and st are those of CUTLASS.
func TestTensorLoadShapes(t *testing.T) {
	for shape, atom := range tensorAtoms {
		for _, n := range []int{1, 2, 8, 16} {
			for _, packed := range []bool{false, true} {
				registers := n * atom.registers
				columns, split, arg := 4*registers, 0, ""
				mod := ""
				if packed {
					mod = ".pack::16b"
				}
				if shape == "16x32bx2" {
					split, arg = 5, ", 5"
				}
				body := numberAll(min(columns, 64)) + fmt.Sprintf("tcgen05.ld.sync.aligned.%s.x%d%s.b32 {%s}, [%%d]%s;\n",
					shape, n, mod, list("r", registers), arg) + "tcgen05.wait::ld.sync.aligned;\n" + storeRegisters(registers)
				out, err := runTensorBody(t, body, 0, nil, rand.New(rand.NewPCG(uint64(n), 1)))
				if err != nil {
					t.Fatal(err)
				}
				for i := range 128 * registers {
					thread, r := i%128, i/128
					row, c0 := atomPlace(atom.thread, thread%32)
					row1, c1 := atomPlace(atom.register, r)
					cell := func(column int) uint32 {
						if c0 < 0 {
							column += split
						}
						return uint32(1000*column + thread/32*32 + row + row1)
					}
					c := max(c0, 0) + c1
					want := cell(c)
					if packed {
						want = cell(2*c)&0xffff | cell(2*c+1)<<16
					}
					if max(2*c+1+split, c) >= min(columns, 64) {
						continue
					}
					if got := wordAt(out, r, thread); got != want {
						t.Fatalf("%s.x%d%s: register %d of thread %d is %d, want %d", shape, n, mod, r, thread, got, want)
					}
				}
			}
		}
	}
}

// What a store writes a load of the same shape reads.
func TestTensorStoreShapes(t *testing.T) {
	for shape, atom := range tensorAtoms {
		for _, mods := range [][2]string{{"", ""}, {".unpack::16b", ".pack::16b"}} {
			arg := ""
			if shape == "16x32bx2" {
				arg = ", 16"
			}
			n := 4 * atom.registers
			body := ""
			for i := range n {
				body += fmt.Sprintf("add.u32 %%r%d, %%thread, %d;\n", i, 1000*i)
			}
			regs := list("r", n)
			body += fmt.Sprintf("tcgen05.st.sync.aligned.%s.x4%s.b32 [%%d]%s, {%s};\ntcgen05.wait::st.sync.aligned;\n", shape, mods[0], arg, regs)
			body += fmt.Sprintf("tcgen05.ld.sync.aligned.%s.x4%s.b32 {%s}, [%%d]%s;\ntcgen05.wait::ld.sync.aligned;\n", shape, mods[1], regs, arg)
			out, err := runTensorBody(t, body+storeRegisters(n), 0, nil, rand.New(rand.NewPCG(1, 1)))
			if err != nil {
				t.Fatal(err)
			}
			for i := range 128 * n {
				if got, want := wordAt(out, i/128, i%128), uint32(i%128+1000*(i/128)); got != want {
					t.Fatalf("%s%s: register %d of thread %d is %d, want %d", shape, mods[0], i/128, i%128, got, want)
				}
			}
		}
	}
}

// tcgen05.cp copies rows to lanes, and unpacks them.
func TestTensorCopy(t *testing.T) {
	type lanes func(row int) []int
	one := func(row int) []int { return []int{row} }
	r := rand.New(rand.NewPCG(9, 9))
	for _, c := range []struct {
		shape        string
		rows, chunks int
		lanes        lanes
	}{
		{"128x256b", 128, 2, one},
		{"128x128b", 128, 1, one},
		{"4x256b", 4, 2, func(row int) []int { return []int{32 * row} }},
		{"64x128b.warpx2::02_13", 64, 1, func(row int) []int { return []int{row, 64 + row} }},
		{"64x128b.warpx2::01_23", 64, 1, func(row int) []int { return []int{row + row/32*32, 32 + row + row/32*32} }},
		{"32x128b.warpx4", 32, 1, func(row int) []int { return []int{row, 32 + row, 64 + row, 96 + row} }},
	} {
		for _, format := range []string{"", ".b8x16.b6x16_p32", ".b8x16.b4x16_p64"} {
			l := packedTensor(false, []int{0, 32, 64}[r.IntN(3)], 0, c.rows, 16)
			in := make([]byte, 8192)
			for i := range in {
				in[i] = byte(r.Uint32())
			}
			body := numberAll(8) + "@first tcgen05.cp.cta_group::1." + c.shape + format + " [%d], %desc;\n" + commitAndWait + loadTensorColumns(8)
			out, err := runTensorBody(t, body, l.bits(), in, nil)
			if err != nil {
				t.Fatal(err)
			}
			for row := range c.rows {
				for i := range 16 * c.chunks {
					chunk := in[l.chunk(i/16, row):][:16]
					want, at := chunk[i%16], i%16
					switch format {
					case ".b8x16.b6x16_p32":
						want = byte((uint(chunk[at*6/8])|uint(chunk[at*6/8+1])<<8)>>(at*6%8)) & 63
					case ".b8x16.b4x16_p64":
						want = chunk[at/2] >> (at % 2 * 4) & 15 << 2
					}
					for _, lane := range c.lanes(row) {
						if got := byte(wordAt(out, i/4, lane) >> (i % 4 * 8)); got != want {
							t.Fatalf("%s%s: byte %d of row %d in lane %d is %#x, want %#x", c.shape, format, i, row, lane, got, want)
						}
					}
				}
			}
		}
	}
}

func TestTensorShift(t *testing.T) {
	body := numberAll(8) + "@first tcgen05.shift.cta_group::1.down [%d];\n" + commitAndWait + loadTensorColumns(8)
	out, err := runTensorBody(t, body, 0, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 * 128 {
		lane, column := i%128, i/128
		want := uint32(1000*column + lane)
		if lane%32 != 31 {
			want++
		}
		if got := wordAt(out, column, lane); got != want {
			t.Fatalf("column %d of lane %d is %d, want %d", column, lane, got, want)
		}
	}
}

// Mistakes are faults, with what to do.
func TestTensorMemoryFaults(t *testing.T) {
	const ld = "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r0}, [%q];\n"
	const mma = "@first tcgen05.mma.cta_group::1.kind::f16 [%q], %desc, %desc, %x, yes;\n" + commitAndWait
	for body, want := range map[string]string{
		"add.u32 %q, %d, 512;\n" + ld:      "reaches to column 512",
		"xor.b32 %q, %d, 0x200000;\n" + ld: "add 32*(warp%4)<<16",
		"add.u32 %q, %d, 0x80000;\n" + ld:  "reaches lanes",
		"add.u32 %q, %d, %thread;\n" + ld:  "different addresses",
		"setp.lt.u32 p, %thread, 32;\n@p bra x;\nbra y;\nx:\ntcgen05.dealloc.cta_group::1.sync.aligned.b32 %d, 256;\ny:\n":                 "must free all of them",
		"setp.lt.u32 p, %thread, 32;\n@p bra x;\nbra y;\nx:\ntcgen05.dealloc.cta_group::1.sync.aligned.b32 %d, 512;\ny:\n":                 "no address that tcgen05.alloc",
		"setp.lt.u32 p, %thread, 32;\n@p bra x;\nbra y;\nx:\ntcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address], 32;\ny:\n": "no thread can go on",
		"setp.lt.u32 p, %thread, 32;\n@p bra x;\nbra y;\nx:\ntcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address], 48;\ny:\n": "48 columns",
		"setp.lt.u32 p, %thread, 32;\n@p bra x;\nbra y;\nx:\ntcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;\n" +
			"tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address], 32;\ny:\n": "cannot allocate",
		"setp.lt.u32 p, %thread, 32;\n@p bra x;\nbra y;\nx:\ntcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [address], 32;\ny:\n": "has no pair",
		"ret;\n": "512 columns of tensor memory allocated",
		"mov.u32 %x, 0x08040410;\nmov.u32 %q, %d;\n" + mma:                                                                      "bits 46 to 48",
		"mov.u32 %x, 0x08040414;\nmov.u32 %q, %d;\n" + mma:                                                                      "sparse",
		"mov.u32 %x, 0x08040420;\nmov.u32 %q, %d;\n" + mma:                                                                      "D of type 2",
		"mov.u32 %x, 0x08040510;\nmov.u32 %q, %d;\n" + mma:                                                                      "A of type 2",
		"mov.u32 %x, 0x08020410;\nmov.u32 %q, %d;\n" + mma:                                                                      "N = 8",
		"mov.u32 %x, 0x06040410;\nmov.u32 %q, %d;\n" + mma:                                                                      "M = 96",
		"mov.u32 %x, 0x08040410;\nmov.b64 %desc, 0x400000000000;\nadd.u32 %q, %d, 0x100000;\n" + mma:                            "must begin at lane 0",
		"mov.u32 %x, 0x08040410;\nmov.b64 %desc, 0x400000000000;\nadd.u32 %q, %d, 500;\n" + mma:                                 "matrix D: it reaches to column 515",
		"mov.u32 %x, 0x08040410;\nmov.b64 %desc, 0x400000003fff;\nmov.u32 %q, %d;\n" + mma:                                      "in shared memory of",
		"mov.u32 %x, 0x08040410;\nmov.b64 %desc, 0x400000000000;\nmov.u32 %q, %d;\n@first st.shared.b32 [tile], 0;\n" + mma:     "no fence.proxy.async",
		"mov.u32 %x, 0x08048590;\nmov.b64 %desc, 0x400000000000;\nmov.u32 %q, %d;\n" + strings.Replace(mma, "f16", "f8f6f4", 1): "of 4 or 6 bits",
		"mov.u32 %x, 0x08048410;\nmov.b64 %desc, 0x2000400000000000;\nmov.u32 %q, %d;\n" + mma:                                  "is for .kind::tf32",
		"mov.u32 %x, 0x08840000;\nmov.b64 %desc, 0x400000000000;\nmov.u32 %q, %d;\nadd.u32 %y, %d, 511;\n" +
			"@first tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%q], %desc, %desc, %x, [%q], [%y], yes;\n" + commitAndWait: "",
		"mov.u32 %x, 0x08840000;\nmov.b64 %desc, 0x400000000000;\nmov.u32 %q, %d;\nadd.u32 %y, %d, 509;\n" +
			"@first tcgen05.mma.cta_group::1.kind::mxf8f6f4.block_scale [%q], %desc, %desc, %x, [%y], [%q], yes;\n" + commitAndWait: "scale factors: it reaches to column 512",
		"tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [tile];\n": "not initialized",
	} {
		_, err := runTensorBody(t, body, 0, nil, nil)
		if err == nil && want != "" || err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: got %v, want an error with %q", body, err, want)
		}
	}
}

// With disorder a kernel is seen to fail that does not wait: for a load, for a store, and for tcgen05.commit.
func TestTensorMissingWaits(t *testing.T) {
	number := strings.Replace(numberAll(8), "tcgen05.wait::st.sync.aligned;\n", "", 1)
	load := strings.Replace(loadTensorColumns(8), "tcgen05.wait::ld.sync.aligned;\n", "", 1)
	shift := "@first tcgen05.shift.cta_group::1.down [%d];\n"
	for _, c := range []struct {
		name, body string
		fails      bool
	}{
		{"all waits", numberAll(8) + shift + commitAndWait + loadTensorColumns(8), false},
		{"no wait::ld", numberAll(8) + shift + commitAndWait + load, true},
		{"no wait::st", number + shift + commitAndWait + loadTensorColumns(8), true},
		{"no wait for the mbarrier", numberAll(8) + shift + loadTensorColumns(8), true},
	} {
		failed := false
		for seed := range uint64(20) {
			out, err := runTensorBody(t, c.body, 0, nil, rand.New(rand.NewPCG(seed, 2)))
			failed = failed || err != nil
			for i := range 8 * 128 {
				want := uint32(1000*(i/128) + i%128)
				if i%32 != 31 {
					want++
				}
				failed = failed || wordAt(out, i/128, i%128) != want
			}
		}
		if failed != c.fails {
			t.Errorf("%s: failed %v", c.name, failed)
		}
	}
}

// Registers of a load are not reused before the wait, though nothing reads them.
func TestTensorLoadKeepsItsRegisters(t *testing.T) {
	body := numberAll(2) + `tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r0, %r9}, [%d];
	add.u32 %r5, %thread, 77;
	tcgen05.wait::ld.sync.aligned;
	st.global.b32 [%out], %r0;
	st.global.b32 [%out+512], %r5;
`
	out, err := runTensorBody(t, body, 0, nil, rand.New(rand.NewPCG(1, 1)))
	if err != nil {
		t.Fatal(err)
	}
	if a, b := wordAt(out, 0, 3), wordAt(out, 1, 3); a != 3 || b != 80 {
		t.Errorf("the registers are %d and %d, want 3 and 80", a, b)
	}
}

// All instructions of a pair of blocks work on both of them, or none.
func TestTensorGroupsAreNotMixed(t *testing.T) {
	var mem memory
	base := mem.allocate(2 * tensorPart)
	g := launchKernel(t, compileText(t, tensorKernel(2, "tcgen05.shift.cta_group::1.down [%d];")), "run",
		Config{Blocks: 2, Cluster: 2, Threads: 128, Memory: &mem, Params: words(base, 0, 0, 8<<32)})
	if err := finish(t, g); err == nil || !strings.Contains(err.Error(), "need the same .cta_group") {
		t.Errorf("got %v", err)
	}
}
