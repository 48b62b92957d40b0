package exec

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"
)

// requireVectors skips a test of assembly where the processor runs the loops, or fails it if GPURUN_REQUIRE_AVX2 is 1.
func requireVectors(t *testing.T) {
	t.Helper()
	switch {
	case hasVectors:
	case os.Getenv("GPURUN_REQUIRE_AVX2") == "1":
		t.Fatal("GPURUN_REQUIRE_AVX2=1, but the processor lacks AVX2, FMA or F16C, or the build leaves out assembly")
	default:
		t.Skip("the processor runs loops: it lacks AVX2, FMA or F16C")
	}
}

// Assembly computes what the loops compute, bit for bit, for operands of all kinds and in all lanes. Where the
// destination is a source, too.
func TestAssemblyAgreesWithLoops(t *testing.T) {
	requireVectors(t)
	r := rand.New(rand.NewPCG(3, 5))
	for _, name := range slices.Sorted(maps.Keys(vectorALUs)) {
		types := operandTypes(name)
		fast, slow := opsOf(t, name, types)
		for range 300 {
			in := operands(r, types[1:])
			var want, got lanes
			slow.alu(&want, &in[0], &in[1], &in[2])
			fast.alu(&got, &in[0], &in[1], &in[2])
			check(t, name, &in, &got, &want)
			same := in
			fast.alu(&same[0], &same[0], &same[1], &same[2])
			check(t, name+" in place", &in, &same[0], &want)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(vectorCompares)) {
		types := operandTypes(name)
		fast, slow := opsOf(t, name, types)
		for range 300 {
			in := operands(r, types[1:])
			if got, want := fast.cmp(&in[0], &in[1]), slow.cmp(&in[0], &in[1]); got != want {
				t.Fatalf("%s of %#x and %#x: %#x, want %#x", name, in[0], in[1], got, want)
			}
		}
	}
}

func check(t *testing.T, name string, in *[3]lanes, got, want *lanes) {
	t.Helper()
	for i := range got {
		if got[i] != want[i] {
			t.Fatalf("%s of %#x, %#x, %#x: %#x, want %#x", name, in[0][i], in[1][i], in[2][i], got[i], want[i])
		}
	}
}

// opsOf compiles an instruction with and without assembly.
func opsOf(t *testing.T, name string, types []string) (fast, slow *op) {
	t.Helper()
	var text strings.Builder
	text.WriteString(".version 8.1\n.target sm_90\n.address_size 64\n.visible .entry run()\n{\n")
	var names []string
	for i, kind := range types {
		names = append(names, fmt.Sprintf("%%x%d", i))
		fmt.Fprintf(&text, ".reg .%s %%x%d;\n", kind, i)
	}
	fmt.Fprintf(&text, "%s %s;\nret;\n}\n", name, strings.Join(names, ", "))
	var ops [2]*op
	for i, loops := range []bool{false, true} {
		k, _ := compileWith(t, text.String(), loops).Kernel("run")
		ops[i] = &k.code[0]
	}
	return ops[0], ops[1]
}

// operandTypes are the types of an instruction's operands, the destination first.
func operandTypes(name string) []string {
	words := strings.Split(name, ".")
	last := words[len(words)-1]
	switch words[0] {
	case "setp":
		return []string{"pred", last, last}
	case "shl", "shr":
		return []string{last, last, "u32"}
	case "cvt":
		return []string{words[len(words)-2], last}
	case "not", "mov", "sqrt":
		return []string{last, last}
	case "mad", "fma":
		types := []string{last, last, last, last}
		if words[1] == "wide" {
			types[0], types[3] = last[:1]+"64", last[:1]+"64"
		}
		return types
	case "mul":
		if words[1] == "wide" {
			return []string{last[:1] + "64", last, last}
		}
	}
	return []string{last, last, last}
}

var interesting = map[string][]uint64{
	"16": {
		0, 1, 2, 0x7fff, 0x8000, 0x8001, 0xffff, 0x3c00, 0x7c00, 0xfc00, 0x7c01, 0x7e00, 0xfe01, 0x3ff, 0x400, 0x3f80, 0x7f80,
		0xff80, 0x7f81, 0x80,
	},
	"32": {
		0, 1, 2, 31, 32, 33, 63, 64, 65, 0x7fffffff, 0x80000000, 0x80000001, 0xffffffff, 0xfffffffe, 0x10000, 0xffff,
		0x3f800000, 0xbf800000, 0x7f800000, 0xff800000, 0x7f800001, 0x7fc00000, 0xffc12345, 1 << 23, 1<<23 - 1, 0x477fe000,
		0x477ff000, 0x33000000, 0x38800000,
	},
	"64": {
		0, 1, 31, 32, 63, 64, 1 << 31, 1 << 32, 1<<32 - 1, 1<<63 - 1, 1 << 63, 1<<63 + 1, 1<<64 - 1, 1<<64 - 2,
		0x3ff0000000000000, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0x7ff0000000000001,
		0xfff8123456789abc, 1 << 52, 1<<52 - 1, 0x47efffffe0000000, 0x47effffff0000000, 0x36a0000000000000,
	},
}

// operands fills up to three registers with random and interesting values of the types.
func operands(r *rand.Rand, types []string) (in [3]lanes) {
	for k, kind := range types {
		width := strings.TrimLeft(kind, "bfsu")
		bits := map[string]int{"16": 16, "32": 32, "64": 64}[width]
		for i := range in[k] {
			v := r.Uint64()
			switch r.IntN(4) {
			case 0:
				v = interesting[width][r.IntN(len(interesting[width]))]
			case 1: // floats of about the same size
				if bits == 32 {
					v = v&0x807fffff | uint64(120+r.IntN(16))<<23
				} else if bits == 64 {
					v = v&0x800fffffffffffff | uint64(1016+r.IntN(16))<<52
				}
			case 2: // small integers
				v &= 0x7f
			}
			in[k][i] = v & widthMask(bits)
		}
	}
	return in
}

func TestAssemblyMovesWhatLoopsMove(t *testing.T) {
	requireVectors(t)
	r := rand.New(rand.NewPCG(7, 9))
	for _, c := range []struct {
		n    int
		size uint64
	}{{2, 4}, {1, 8}, {1, 4}, {1, 2}, {1, 1}} {
		o := &op{mem: &access{size: c.size, vector: []int32{0, 1, 2, 3}[:c.n], masks: slices.Repeat([]uint64{1<<64 - 1}, 4)}}
		step := uint64(c.n) * c.size
		data := zeroed(32*int(step) + 64)
		for i := range data {
			data[i] = byte(r.Uint32())
		}
		p := unsafe.Pointer(&data[step]) // aligned to the access and no more
		var fast, slow warp
		fast.regs, slow.regs = make([]lanes, 4), make([]lanes, 4)
		vectorLoad(c.n, c.size)(&fast, o, p)
		loops := loadLoops(c.size, false)
		loops.strided(&slow, o, p, step)
		if !slices.Equal(fast.regs, slow.regs) {
			t.Errorf("loading %d of %d bytes: %x, want %x", c.n, c.size, fast.regs, slow.regs)
		}
		store := vectorStore(c.n, c.size)
		if store == nil {
			continue
		}
		for k := range fast.regs {
			for i := range fast.regs[k] {
				fast.regs[k][i] = r.Uint64() // what is beyond the size is not stored
			}
		}
		got, want := zeroed(len(data)), zeroed(len(data))
		store(&fast, o, unsafe.Pointer(&got[step]))
		slowStore := storeLoops(c.size)
		slowStore.strided(&fast, o, unsafe.Pointer(&want[step]), step)
		if !slices.Equal(got, want) {
			t.Errorf("storing %d of %d bytes: %x, want %x", c.n, c.size, got, want)
		}
	}
}

func TestAssemblyChoosesAndExpands(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 13))
	for range 1000 {
		in := operands(r, []string{"b64", "b64"})
		mask := r.Uint32()
		var got, want lanes
		choose(&got, &in[0], &in[1], mask)
		chooseLoop(&want, &in[0], &in[1], mask)
		if got != want {
			t.Fatalf("choose %#x: %x, want %x", mask, got, want)
		}
		a := affine{in[0][0], in[1][0]}
		expand(&got, a)
		expandLoop(&want, a)
		if got != want {
			t.Fatalf("expand %v: %x, want %x", a, got, want)
		}
		for _, bits := range []int{8, 16, 32} {
			packLoop(&got, &in[0], &in[1], bits)
			if f, ok := vectorPacks[bits]; ok {
				if f.Call(&want, &in[0], &in[1], nil); got != want {
					t.Fatalf("packing %d bits: %x, want %x", bits, want, got)
				}
			}
			low, high := got, got
			unpackPair(&low, &high, &low, bits)
			var wantLow, wantHigh lanes
			unpackLoop(&wantLow, &wantHigh, &got, bits)
			if low != wantLow || high != wantHigh {
				t.Fatalf("unpacking %d bits: %x %x, want %x %x", bits, low, high, wantLow, wantHigh)
			}
		}
	}
}

// A conversion to a signed type extends the sign to all of a wider register, also where assembly would not.
func TestConversionToWiderRegister(t *testing.T) {
	for _, from := range []string{"s64", "u64"} {
		got, _, err := runCalling(t, calling("", `cvt.u64.u32 %x, %t; mul.lo.s64 %x, %x, %x; sub.s64 %x, %x, 100;
			cvt.s32.`+from+` %y, %x; shr.u64 %y, %y, 32; cvt.u32.u64 %r, %y;`), Config{})
		if err != nil {
			t.Fatal(err)
		}
		for n, v := range got {
			if want := uint32(int64(n*n-100) >> 32); v != want {
				t.Errorf("cvt.s32.%s of %d: the upper half is %#x, want %#x", from, n*n-100, v, want)
			}
		}
	}
}
