package exec

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// Receivers of a packet of four words, which poll what the comment says.
const (
	// The last word.
	oneFlag = `
	wait:
		ld.relaxed.sys.global.v4.b32 {%a, %b, %c, %d}, [%data];
		setp.eq.u32 p, %d, 0;
		@p bra wait;
		st.global.v4.b32 [%data+512], {%a, %b, %c, %d};
	`
	// The upper half of each 64-bit word.
	flagInEach = `
	wait:
		ld.relaxed.sys.global.v2.b64 {%x, %y}, [%data];
		mov.b64 {%a, %b}, %x;
		mov.b64 {%c, %d}, %y;
		setp.eq.u32 p, %b, 0;
		@p bra wait;
		setp.eq.u32 p, %d, 0;
		@p bra wait;
		st.global.v4.b32 [%data+512], {%a, %b, %c, %d};
	`
	// The last word of one element.
	oneElement = `
	wait:
		{ .reg .b128 w; ld.relaxed.sys.global.b128 w, [%data]; mov.b128 {%x, %y}, w; }
		mov.b64 {%a, %b}, %x;
		mov.b64 {%c, %d}, %y;
		setp.eq.u32 p, %d, 0;
		@p bra wait;
		st.global.v4.b32 [%data+512], {%a, %b, %c, %d};
	`
	// The second word, of a packet of two words.
	twoWords = `
	wait:
		ld.volatile.global.v2.b32 {%a, %b}, [%data];
		setp.eq.u32 p, %b, 0;
		@p bra wait;
		mov.u32 %c, 7;
		mov.u32 %d, 8;
		st.global.v4.b32 [%data+512], {%a, %b, %c, %d};
	`
)

// A packet with a single flag may arrive torn by PTX; by a GPU only if it has 16 bytes and is volatile.
func TestVectorStoresAreTorn(t *testing.T) {
	const pack = "mov.b64 %x, {%a, %d}; mov.b64 %y, {%b, %d};"
	const one = ".reg .b128 w; mov.b64 %x, {%a, %b}; mov.b64 %y, {%c, %d}; mov.b128 w, {%x, %y};"
	for _, tt := range []struct {
		name, store, load string
		whole, wholeByPTX bool
	}{
		{"weak", "st.global.v4.b32 [%data], {%a, %b, %c, %d};", oneFlag, true, false},
		{"relaxed", "st.relaxed.sys.global.v4.b32 [%data], {%a, %b, %c, %d};", oneFlag, true, false},
		{"volatile", "st.volatile.global.v4.b32 [%data], {%a, %b, %c, %d};", oneFlag, false, false},
		{"release", "st.release.sys.global.v4.b32 [%data], {%a, %b, %c, %d};", oneFlag, true, false},
		{"multimem", "multimem.st.relaxed.sys.global.v4.f32 [%mc], {%a, %b, %c, %d};", oneFlag, false, false},
		{"four flags' worth in two words", pack + "st.global.v4.b32 [%data], {%a, %d, %b, %d};", flagInEach, true, false},
		{"the same, volatile", pack + "st.volatile.global.v4.b32 [%data], {%a, %d, %b, %d};", flagInEach, true, false},
		{"a flag in each 64-bit element", pack + "st.relaxed.sys.global.v2.b64 [%data], {%x, %y};", flagInEach, true, true},
		{"a flag in each, volatile", pack + "st.volatile.global.v2.b64 [%data], {%x, %y};", flagInEach, true, true},
		{"two words", "st.volatile.global.v2.b32 [%data], {%a, %b};", twoWords, true, false},
		{"two weak words", "st.global.v2.b32 [%data], {%a, %b};", twoWords, true, false},
		{"one element", one + "st.global.b128 [%data], w;", oneElement, true, true},
		{"one element, volatile", one + "st.volatile.global.b128 [%data], w;", oneElement, true, true},
		{"an exchange", one + "atom.sys.global.exch.b128 _, [%data], w;", oneElement, true, true},
		{"two words in one", "mov.b64 %x, {%a, %b}; st.volatile.global.b64 [%data], %x;", twoWords, true, true},
	} {
		producer := "mov.u32 %a, 5; mov.u32 %b, 6; mov.u32 %c, 7; mov.u32 %d, 8;" + tt.store
		p := compileText(t, roles(producer, tt.load))
		for _, byPTX := range []bool{false, true} {
			wrong := disturbedAs(t, p, Config{Blocks: 2, Threads: 1, TearVectors: byPTX}, func(data []byte) bool {
				return binary.LittleEndian.Uint32(data[512:]) == 5 && binary.LittleEndian.Uint32(data[520:])|1 == 7
			})
			whole := tt.whole
			if byPTX {
				whole = tt.wholeByPTX
			}
			if (wrong == 0) != whole {
				t.Errorf("%s: torn after %d seeds by PTX alone %v; want whole: %v", tt.name, wrong, byPTX, whole)
			}
		}
	}
}

// A vector of 32 bytes, on targets that have it, is two of 16.
func TestLargeVectorsAreTorn(t *testing.T) {
	store := "mov.u32 %a, 5; mov.u64 %x, 6; st.global.v4.b64 [%data], {%x, %x, %x, %x};"
	load := `
	wait:
		ld.relaxed.sys.global.v2.b64 {%x, %y}, [%data+16];
		setp.eq.u64 p, %y, 0;
		@p bra wait;
		st.global.b64 [%data+520], %x;
		ld.relaxed.sys.global.b64 %x, [%data];
		st.global.b64 [%data+512], %x;
	`
	text := strings.Replace(roles(store, load), ".version 8.6", ".version 8.8", 1)
	p := compileText(t, text)
	halves := func(half int) int {
		return disturbed(t, p, 2, 1, func(data []byte) bool { return binary.LittleEndian.Uint64(data[512+8*half:]) == 6 })
	}
	if halves(0) == 0 || halves(1) != 0 {
		t.Errorf("the first half is late after %d seeds, the second torn after %d", halves(0), halves(1))
	}
}

// Vectors of all sizes move what they should, for whole warps and parts of them, in both models.
func TestVectorsMove(t *testing.T) {
	for _, vector := range []string{
		"v2.u8", "v4.u8", "v2.u16", "v4.u16", "v2.s32", "v4.s32", "v2.b64", "v4.f32", "v2.s16", "v4.s8",
	} {
		for _, tear := range []bool{false, true} {
			for _, guard := range []string{"", "@p "} {
				checkVectorMoves(t, vector, tear, guard)
			}
		}
	}
}

func checkVectorMoves(t *testing.T, vector string, tear bool, guard string) {
	t.Helper()
	n, bits := int(vector[1]-'0'), 0
	fmt.Sscan(vector[4:], &bits)
	width, registers := n*bits/8, "%v0, %v1"
	if n == 4 {
		registers += ", %v2, %v3"
	}
	text := fmt.Sprintf(`
.version 8.0
.target sm_80
.address_size 64
.visible .entry run(.param .u64 from, .param .u64 to)
{
	.reg .b64 %%from, %%to, %%sign, %%wide;
	.reg .b64 %%v<4>;
	.reg .b32 %%lane;
	.reg .pred p;
	ld.param.u64 %%from, [from];
	ld.param.u64 %%to, [to];
	mov.u32 %%lane, %%tid.x;
	setp.ne.u32 p, %%lane, 5;
	mad.wide.u32 %%sign, %%lane, 4, %%to;
	mad.wide.u32 %%from, %%lane, %[2]d, %%from;
	mad.wide.u32 %%to, %%lane, %[2]d, %%to;
	%[4]sld.global.%[1]s {%[3]s}, [%%from];
	%[4]sst.global.%[1]s [%%to], {%[3]s};
	shr.u64 %%wide, %%v1, 63;
	%[4]sst.global.u32 [%%sign+2048], %%wide;
	ret;
}
`, vector, width, registers, guard)
	var mem memory
	from, to := mem.allocate(512), mem.allocate(4096)
	for i := range mem.at(from) {
		mem.at(from)[i] = byte(i*37 + 101)
	}
	g := launchKernel(t, compileText(t, text), "run", Config{Params: words(from, to), Memory: &mem, TearVectors: tear})
	if err := finish(t, g); err != nil {
		t.Fatal(err)
	}
	for lane := range 32 {
		if guard != "" && lane == 5 {
			continue
		}
		row := lane * width
		if got, want := string(mem.at(to)[row:row+width]), string(mem.at(from)[row:row+width]); got != want {
			t.Errorf("%s, torn %v: lane %d has %x, want %x", vector, tear, lane, got, want)
		}
		sign := uint32(0)
		if vector[3] == 's' || bits == 64 {
			sign = uint32(mem.at(from)[row+2*bits/8-1] >> 7)
		}
		if got := binary.LittleEndian.Uint32(mem.at(to)[4*lane+2048:]); got != sign {
			t.Errorf("%s, torn %v: lane %d has sign %d, want %d", vector, tear, lane, got, sign)
		}
	}
}

// 16 bytes are seen whole by another thread of the host.
func TestSixteenBytesAreWhole(t *testing.T) {
	if !hasWhole {
		t.Skip("the host has no AVX")
	}
	place, done := zeroed(16), make(chan struct{})
	p := newSpan(0, place).ptr
	go func() {
		defer close(done)
		for i := range uint64(1 << 18) {
			store16(p, i, ^i)
		}
	}()
	store16(p, 0, ^uint64(0))
	for reads := 0; ; reads++ {
		if low, high := load16(p); low != ^high {
			t.Fatalf("read %d found %#x and %#x", reads, low, high)
		}
		select {
		case <-done:
			runtime.KeepAlive(place)
			return
		default:
		}
	}
}

// Both words of 16 bytes are exchanged at once, also with another thread of the host.
func TestSixteenBytesAreExchanged(t *testing.T) {
	if !hasWideSwap {
		t.Skip("the host has no exchange of 16 bytes")
	}
	const times = 1 << 15
	place, done := zeroed(16), make(chan struct{})
	p := newSpan(0, place).ptr
	count := func(step word) {
		for range times {
			for old := (word{}); ; {
				seen := swapWord(p, old, word{old[0] + step[0], old[1] + step[1]})
				if seen == old {
					break
				}
				old = seen
			}
		}
	}
	go func() {
		defer close(done)
		count(word{1, 2})
	}()
	count(word{2, 1})
	<-done
	if got := exchangeWord(p, word{7, 8}); got != (word{3 * times, 3 * times}) {
		t.Errorf("the words are %d, want %d each", got, 3*times)
	}
	if got := readPiece(p, wholeBytes); got != (word{7, 8}) {
		t.Errorf("after an exchange the words are %d, want 7 and 8", got)
	}
}
