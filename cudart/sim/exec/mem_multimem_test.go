package exec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart/sim/ptx"
)

// groupMemory is a memory in which the region after the last stands for the
// first so many regions at once.
type groupMemory struct {
	memory
	members int
}

func (m *groupMemory) Resolve(addr uint64) (Region, bool) {
	if addr>>RegionShift != uint64(FirstRegion+len(m.memory)) {
		return m.memory.Resolve(addr)
	}
	r := Region{Base: m.address()}
	for i := range m.members {
		member, _ := m.memory.Resolve(uint64(FirstRegion+i) << RegionShift)
		r.Members = append(r.Members, member)
	}
	return r, true
}

func (m *groupMemory) address() uint64 { return uint64(FirstRegion+len(m.memory)) << RegionShift }

// multimemKernel is a kernel of one thread: %mc is the multicast address, %out
// that of 64 bytes of memory, from which registers of each width are loaded.
func multimemKernel(target, body string) string {
	return `
.version 8.6
.target ` + target + `
.address_size 64
.visible .entry run(.param .u64 mc, .param .u64 out)
{
	.reg .b64 %mc, %out, %x, %y;
	.reg .b32 %a, %b, %c, %d;
	.reg .b16 %h<8>;
	.reg .f32 %f<4>;
	ld.param.u64 %mc, [mc];
	ld.param.u64 %out, [out];
	ld.global.v4.b32 {%a, %b, %c, %d}, [%out];
	ld.global.v2.b64 {%x, %y}, [%out];
	ld.global.v4.b16 {%h0, %h1, %h2, %h3}, [%out];
	ld.global.v4.b16 {%h4, %h5, %h6, %h7}, [%out+8];
	ld.global.v4.f32 {%f0, %f1, %f2, %f3}, [%out];
	` + body + `
	ret;
}
`
}

// runMultimem runs a body on members that begin with the given words of 64
// bits, and returns what they and the output hold then.
func runMultimem(t *testing.T, body string, input [2]uint64,
	members ...[2]uint64,
) (out [2]uint64, after [][2]uint64, err error) {
	t.Helper()
	var mem memory
	for _, words := range append(members, input) {
		at := mem.at(mem.allocate(64))
		binary.LittleEndian.PutUint64(at, words[0])
		binary.LittleEndian.PutUint64(at[8:], words[1])
	}
	group := &groupMemory{mem, len(members)}
	output := uint64(FirstRegion+len(members)) << RegionShift
	g := launchKernel(t, compileText(t, multimemKernel("sm_100a", body)), "run",
		Config{Threads: 1, Params: words(group.address(), output), Memory: group})
	err = finish(t, g)
	read := func(b []byte) [2]uint64 {
		return [2]uint64{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint64(b[8:])}
	}
	for i := range members {
		after = append(after, read(mem[i]))
	}
	return read(mem[len(members)]), after, err
}

// Three members, reduced in their order.
func TestMultimemLoadReduces(t *testing.T) {
	single := func(x float32) uint64 { return uint64(math.Float32bits(x)) }
	for _, tt := range []struct {
		inst    string
		members [3]uint64
		want    uint64
	}{
		{"add.u32 %a", [3]uint64{0xffffffff, 2, 3}, 4},
		{"add.s32 %a", [3]uint64{0xffffffff, 0xfffffffe, 1}, 0xfffffffe},
		{"add.u64 %x", [3]uint64{math.MaxUint64, 2, 3}, 4},
		{"min.u32 %a", [3]uint64{0xffffffff, 2, 3}, 2},
		{"max.u32 %a", [3]uint64{0xffffffff, 2, 3}, 0xffffffff},
		{"min.s32 %a", [3]uint64{0xffffffff, 2, 3}, 0xffffffff},
		{"max.s32 %a", [3]uint64{0xffffffff, 2, 3}, 3},
		{"min.s64 %x", [3]uint64{math.MaxUint64, 2, 3}, math.MaxUint64},
		{"max.u64 %x", [3]uint64{math.MaxUint64, 2, 3}, math.MaxUint64},
		{"and.b32 %a", [3]uint64{7, 6, 12}, 4},
		{"or.b32 %a", [3]uint64{1, 2, 8}, 11},
		{"xor.b64 %x", [3]uint64{1, 3, 8}, 10},
		{"add.f32 %f0", [3]uint64{single(1e8), single(1), single(-1e8)}, 0},
		{"add.f32 %f0", [3]uint64{single(1e8), single(-1e8), single(1)}, single(1)},
		{"add.f64 %x", [3]uint64{math.Float64bits(1e16), math.Float64bits(1), math.Float64bits(-1e16)}, 0},
		// 2048 + 1 + 1 in halves and 256 + 1 + 1 in bfloat16, in both lanes.
		{"add.f16x2 %a", [3]uint64{0x68003c00, 0x3c003c00, 0x3c003c00}, 0x68004200},
		{"add.acc::f32.f16x2 %a", [3]uint64{0x68003c00, 0x3c003c00, 0x3c003c00}, 0x68014200},
		{"add.bf16x2 %a", [3]uint64{0x43803f80, 0x3f803f80, 0x3f803f80}, 0x43804040},
		{"add.acc::f32.bf16x2 %a", [3]uint64{0x43803f80, 0x3f803f80, 0x3f803f80}, 0x43814040},
		{"max.f16x2 %a", [3]uint64{0x7e00bc00, 0x3c008000, 0x40000000}, 0x40000000},
		{"min.f16x2 %a", [3]uint64{0x7e00bc00, 0x3c008000, 0x40000000}, 0x3c00bc00},
		{"max.bf16x2 %a", [3]uint64{0x7fc0bf80, 0x3f808000, 0x40000000}, 0x40000000},
		// 16 + 1 + 1; 448 + 448; NaN; -16 + 1 + 1.
		{"add.e4m3x4 %a", [3]uint64{0x58_7e_7f_d8, 0x38_7e_38_38, 0x38_38_38_38}, 0x58_7e_7f_d6},
		{"add.acc::f16.e4m3x4 %a", [3]uint64{0x58_7e_7f_d8, 0x38_7e_38_38, 0x38_38_38_38}, 0x59_7e_7f_d6},
		// 8 + 1 + 1; the largest twice; infinity; subnormals.
		{"add.e5m2x4 %a", [3]uint64{0x48_7b_7c_01, 0x3c_7b_3c_01, 0x3c_3c_3c_01}, 0x48_7b_7b_03},
		{"add.acc::f16.e5m2x4 %a", [3]uint64{0x48_7b_3c_01, 0x3c_7b_3c_01, 0x3c_3c_3c_01}, 0x49_7b_42_03},
		{"max.e4m3x4 %a", [3]uint64{0x7f_80_b8_01, 0x38_00_c0_02, 0x30_80_b9_81}, 0x38_00_b8_02},
		{"min.e5m2x4 %a", [3]uint64{0x7f_80_bc_01, 0x3c_00_c0_02, 0x30_80_bd_81}, 0x30_80_c0_81},
	} {
		inst, register, _ := strings.Cut(tt.inst, " ")
		for _, sem := range []string{"", "weak.global.", "relaxed.sys.global.", "acquire.gpu."} {
			store := map[byte]string{'a': "b32", 'x': "b64", 'f': "f32"}[register[1]]
			body := fmt.Sprintf("multimem.ld_reduce.%s%s %s, [%%mc+8]; st.global.%s [%%out], %s;", sem, inst, register, store,
				register)
			out, _, err := runMultimem(t, body, [2]uint64{}, [2]uint64{9, tt.members[0]}, [2]uint64{9, tt.members[1]},
				[2]uint64{9, tt.members[2]})
			if err != nil || out[0] != tt.want {
				t.Errorf("%s of %#x is %#x, error %v; want %#x", body, tt.members, out[0], err, tt.want)
			}
		}
	}
}

func TestMultimemVectors(t *testing.T) {
	word := func(x, y float32) uint64 { return uint64(math.Float32bits(x)) | uint64(math.Float32bits(y))<<32 }
	one, two := [2]uint64{word(1, 2), word(3, 4)}, [2]uint64{word(10, 20), word(30, 40)}
	sum := [2]uint64{word(11, 22), word(33, 44)}
	halves := [2]uint64{0x4000_3c00_4000_3c00, 0x4200_4200_3c00_3c00} // 1 2 1 2 1 1 3 3
	doubled := [2]uint64{0x4400_4000_4400_4000, 0x4600_4600_4000_4000}
	for _, tt := range []struct {
		body             string
		input, one, two  [2]uint64
		out, after, last [2]uint64 // of the output, of the first and the second member
	}{
		{
			"multimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%f0,%f1,%f2,%f3}, [%mc]; " +
				"st.global.v4.f32 [%out], {%f0,%f1,%f2,%f3};", [2]uint64{}, one, two, sum, one, two,
		},
		{
			"multimem.ld_reduce.add.acc::f32.v8.f16 {%h0,%h1,%h2,%h3,%h4,%h5,%h6,%h7}, [%mc]; " +
				"st.global.v4.b16 [%out], {%h0,%h1,%h2,%h3}; st.global.v4.b16 [%out+8], {%h4,%h5,%h6,%h7};",
			[2]uint64{},
			halves,
			halves, doubled, halves, halves,
		},
		{
			"multimem.ld_reduce.add.v4.f16x2 {%a,%b,%c,%d}, [%mc]; st.global.v4.b32 [%out], {%a,%b,%c,%d};",
			[2]uint64{},
			halves,
			halves, doubled, halves, halves,
		},
		{"multimem.st.relaxed.sys.global.v4.f32 [%mc], {%f0,%f1,%f2,%f3};", sum, one, two, sum, sum, sum},
		{"st.global.v4.f32 [%mc], {%f0,%f1,%f2,%f3};", sum, one, two, sum, sum, sum},
		{"st.volatile.global.b64 [%mc+8], %x;", sum, one, two, sum, [2]uint64{one[0], sum[0]}, [2]uint64{two[0], sum[0]}},
		{
			"multimem.st.weak.global.b64 [%mc+8], %x;", sum, one, two, sum, [2]uint64{one[0], sum[0]}, [2]uint64{two[0], sum[0]},
		},
		{
			"multimem.st.release.gpu.v2.f16 [%mc+4], {%h2, %h3};",
			[2]uint64{0x1111222233334444},
			one, two,
			[2]uint64{0x1111222233334444},
			[2]uint64{one[0]&0xffffffff | 0x11112222<<32, one[1]},
			[2]uint64{two[0]&0xffffffff | 0x11112222<<32, two[1]},
		},
		{"multimem.red.add.v4.f32 [%mc], {%f0,%f1,%f2,%f3};", one, one, two, one, [2]uint64{word(2, 4), word(6, 8)}, sum},
		{
			"multimem.red.release.sys.global.add.v8.f16 [%mc], {%h0,%h1,%h2,%h3,%h4,%h5,%h6,%h7};", halves, halves,
			[2]uint64{},
			halves, doubled, halves,
		},
		{
			"multimem.red.relaxed.gpu.add.noftz.f16x2 [%mc], %a;", halves, halves,
			[2]uint64{},
			halves,
			[2]uint64{halves[0]&^0xffffffff | 0x44004000, halves[1]},
			[2]uint64{0x40003c00},
		},
		{
			"multimem.red.relaxed.sys.global.add.u32 [%mc+4], %a;",
			[2]uint64{5},
			[2]uint64{1<<32 | 7},
			[2]uint64{0xffffffff << 32},
			[2]uint64{5},
			[2]uint64{6<<32 | 7},
			[2]uint64{4 << 32},
		},
		{
			"multimem.red.max.s64 [%mc], %x;",
			[2]uint64{5},
			[2]uint64{7},
			[2]uint64{math.MaxUint64},
			[2]uint64{5},
			[2]uint64{7},
			[2]uint64{5},
		},
		{
			"multimem.red.xor.b32 [%mc], %a;",
			[2]uint64{5},
			[2]uint64{7},
			[2]uint64{1},
			[2]uint64{5},
			[2]uint64{2},
			[2]uint64{4},
		},
	} {
		body := strings.Replace(tt.body, ".noftz", "", 1)
		out, after, err := runMultimem(t, body, tt.input, tt.one, tt.two)
		if err != nil {
			t.Errorf("%s: %v", body, err)
		}
		if diff := cmp.Diff([][2]uint64{tt.out, tt.after, tt.last}, append([][2]uint64{out}, after...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
	}
}

// legalMultimem lists every combination that the PTX ISA allows: what it does,
// operation, accumulator, vector and type.
func legalMultimem() []string {
	var legal []string
	add := func(prefix, types string) {
		for _, t := range strings.Fields(types) {
			legal = append(legal, prefix+t)
		}
	}
	vectors := map[string]string{
		"":    "f16x2 bf16x2 f32 f64",
		"v2.": "f16 f16x2 bf16 bf16x2 f32",
		"v4.": "f16 f16x2 bf16 bf16x2 f32",
		"v8.": "f16 bf16",
	}
	small := map[string]string{
		"": "e4m3x4 e5m2x4", "v2.": "e4m3x2 e4m3x4 e5m2x2 e5m2x4", "v4.": "e4m3 e4m3x2 e4m3x4 e5m2 e5m2x2 e5m2x4",
		"v8.": "e4m3 e4m3x2 e5m2 e5m2x2",
	}
	halves := map[string]string{
		"": "f16x2 bf16x2", "v2.": "f16 f16x2 bf16 bf16x2", "v4.": "f16 f16x2 bf16 bf16x2", "v8.": "f16 bf16",
	}
	for v := range vectors {
		add("st."+v, vectors[v]+" "+small[v])
		add("red.add."+v, vectors[v])
		add("ld_reduce.add."+v, vectors[v]+" "+small[v])
		add("ld_reduce.min."+v, halves[v]+" "+small[v])
		add("ld_reduce.max."+v, halves[v]+" "+small[v])
		add("ld_reduce.add.acc::f32."+v, halves[v])
		add("ld_reduce.add.acc::f16."+v, small[v])
	}
	add("st.", "b32 b64 u32 u64 s32 s64")
	for _, what := range []string{"ld_reduce.", "red."} {
		add(what+"add.", "u32 u64 s32")
		add(what+"min.", "u32 u64 s32 s64")
		add(what+"max.", "u32 u64 s32 s64")
		add(what+"and.", "b32 b64")
		add(what+"or.", "b32 b64")
		add(what+"xor.", "b32 b64")
	}
	slices.Sort(legal)
	return legal
}

// Of all combinations exactly the legal ones compile, and the others are refused
// by name.
func TestMultimemCombinations(t *testing.T) {
	var accepted []string
	for _, what := range []string{"ld_reduce.", "st.", "red."} {
		for _, op := range []string{"", "add.", "min.", "max.", "and.", "or.", "xor.", "inc.", "cas."} {
			for _, acc := range []string{"", "acc::f32.", "acc::f16."} {
				for v, n := range map[string]int{"": 1, "v2.": 2, "v4.": 4, "v8.": 8} {
					for _, typ := range strings.Fields("b8 u8 b16 u16 s16 b32 u32 s32 b64 u64 s64 f16 bf16 f16x2 bf16x2 f32 f64 " +
						"e4m3 e4m3x2 e4m3x4 e5m2 e5m2x2 e5m2x4 pred") {
						name := what + op + acc + v + typ
						if err := compileMultimem("sm_100a", name, n); err == nil {
							accepted = append(accepted, name)
						} else if !strings.Contains(err.Error(), "multimem."+name) {
							t.Errorf("%s: the refusal does not name it: %v", name, err)
						}
					}
				}
			}
		}
	}
	slices.Sort(accepted)
	if diff := cmp.Diff(legalMultimem(), accepted); diff != "" {
		t.Errorf("combinations (-want +got):\n%s", diff)
	}
}

// compileMultimem compiles one instruction with n registers of 64 bits.
func compileMultimem(target, name string, n int) error {
	value := strings.TrimSuffix(strings.Repeat("%x, ", n), ", ")
	if n > 1 {
		value = "{" + value + "}"
	}
	operands := "[%mc], " + value
	if strings.HasPrefix(name, "ld_reduce") {
		operands = value + ", [%mc]"
	}
	m, err := ptx.Parse("multimem.ptx", []byte(multimemKernel(target, "multimem."+name+" "+operands+";")))
	if err != nil {
		return err
	}
	_, err = Compile(m)
	return err
}

func TestMultimemRefusals(t *testing.T) {
	for _, tt := range []struct {
		target, inst string
		registers    int
		want         string
	}{
		{"sm_80", "ld_reduce.add.u32", 1, "sm_90"},
		{"sm_90a", "ld_reduce.add.e4m3x4", 1, "sm_100a"},
		{"sm_100", "st.e4m3x4", 1, "sm_100a"},
		{"sm_90", "ld_reduce.relaxed.add.u32", 1, "needs a scope"},
		{"sm_90", "ld_reduce.weak.sys.add.u32", 1, "a scope needs an order"},
		{"sm_90", "ld_reduce.gpu.add.u32", 1, "a scope needs an order"},
		{"sm_90", "ld_reduce.release.sys.add.u32", 1, "needs"},
		{"sm_90", "st.acquire.sys.u32", 1, "needs"},
		{"sm_90", "red.weak.add.u32", 1, ".weak"},
		{"sm_90", "ld_reduce.add.v4.f32", 2, "4 elements and 2 registers"},
		{"sm_90", "ld_reduce.shared.add.u32", 1, ".shared"},
		{"sm_90", "cas.u32", 1, "ld_reduce, st or red"},
	} {
		if err := compileMultimem(tt.target, tt.inst, tt.registers); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s for %s: %v, want something about %q", tt.inst, tt.target, err, tt.want)
		}
	}
}

func TestMultimemFaults(t *testing.T) {
	for body, want := range map[string]struct {
		kind FaultKind
		text string
	}{
		"ld.global.u32 %a, [%mc];":                           {IllegalAddress, "only multimem instructions and stores take it"},
		"st.u32 [%mc+64], %a;":                               {IllegalAddress, "multicast range of 64 bytes"},
		"red.global.add.u32 [%mc], %a;":                      {IllegalAddress, "only multimem instructions and stores take it"},
		"multimem.ld_reduce.add.u32 %a, [%out];":             {IllegalAddress, "no multicast address"},
		"multimem.st.u32 [0], %a;":                           {IllegalAddress, "no multicast address"},
		"multimem.red.add.u32 [%mc+64], %a;":                 {IllegalAddress, "multicast range of 64 bytes"},
		"multimem.st.u32 [%mc+-4], %a;":                      {IllegalAddress, "multicast"},
		"multimem.st.v2.f32 [%mc+64], {%f0, %f1};":           {IllegalAddress, "multicast range"},
		"multimem.ld_reduce.add.u64 %x, [%mc+4];":            {MisalignedAddress, "multiple of 8"},
		"multimem.ld_reduce.add.v2.f16x2 {%a, %b}, [%mc+4];": {MisalignedAddress, "multiple of 8"},
	} {
		_, _, err := runMultimem(t, body, [2]uint64{}, [2]uint64{}, [2]uint64{})
		var fault *Fault
		if !errors.As(err, &fault) || fault.Kind != want.kind || !strings.Contains(err.Error(), want.text) {
			t.Errorf("%s: %v, want %v about %q", body, err, want.kind, want.text)
		}
	}
}
