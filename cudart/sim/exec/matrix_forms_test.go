package exec

import (
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gpurun/cudart/sim/tensorcore"
)

// smallNumber is how a type of elements holds small numbers.
type smallNumber struct {
	bits      int
	low, high int // the numbers that it is tested with
	encode    func(x int) uint64
}

func integerBits(x int) uint64 { return uint64(x) }

func bitsOfFloat(f format) func(x int) uint64 {
	return func(x int) uint64 { return f.encode(float64(x), toNearestEven) }
}

var smallNumbers = map[string]smallNumber{
	"f16":  {16, -15, 15, bitsOfFloat(binary16)},
	"bf16": {16, -15, 15, bitsOfFloat(bfloat16)},
	"tf32": {32, -15, 15, func(x int) uint64 { return uint64(math.Float32bits(float32(x))) | 0x1fff }},
	"f32":  {32, -999, 999, bitsOfFloat(binary32)},
	"f64":  {64, -99, 99, bitsOfFloat(binary64)},
	"e4m3": {8, -15, 15, func(x int) uint64 { return e4m3.encode(float64(x)) }},
	"e5m2": {8, -4, 4, func(x int) uint64 { return e5m2.encode(float64(x)) }},
	"s8":   {8, -128, 127, integerBits},
	"u8":   {8, 0, 255, integerBits},
	"s4":   {4, -8, 7, integerBits},
	"u4":   {4, 0, 15, integerBits},
	"b1":   {1, 0, 1, integerBits},
	"s32":  {32, -999, 999, integerBits},
}

func (n smallNumber) random(r *rand.Rand) int { return n.low + r.IntN(n.high-n.low+1) }

// put writes element i of those that lie one after the other.
func (n smallNumber) put(to []byte, i, x int) {
	v, at := n.encode(x)&widthMask(n.bits), i*n.bits
	for b := range n.bits {
		to[(at+b)/8] |= byte(v>>b&1) << ((at + b) % 8)
	}
}

// get reads element i, which is a number between the limits of s32 or an exact float.
func (n smallNumber) get(typ string, from []byte, i int) int {
	switch typ {
	case "f16":
		return int(binary16.decode(uint64(binary.LittleEndian.Uint16(from[2*i:]))))
	case "f32":
		return int(math.Float32frombits(binary.LittleEndian.Uint32(from[4*i:])))
	case "f64":
		return int(math.Float64frombits(binary.LittleEndian.Uint64(from[8*i:])))
	}
	return int(int32(binary.LittleEndian.Uint32(from[4*i:])))
}

// mmaTest is a form of mma.sync.
type mmaTest struct {
	m, n, k     int
	d, a, b     string
	front, tail string // modifiers
	sparse      string // ".sp" or ".sp::ordered_metadata"
	selector    int
	text        string // instead of what the others say
}

func (tt mmaTest) name() string {
	if tt.text != "" {
		return tt.text
	}
	return fmt.Sprintf("mma%s.sync.aligned.m%dn%dk%d.row.col%s.%s.%s.%s.%s%s", tt.sparse, tt.m, tt.n, tt.k, tt.front, tt.d, tt.a, tt.b,
		tt.d, tt.tail)
}

// mmaTests are all forms on one shape for each type, and all shapes.
func mmaTests() (all []mmaTest) {
	add := func(m, n, k int, d, a, b, front, tail string) {
		all = append(all, mmaTest{m: m, n: n, k: k, d: d, a: a, b: b, front: front, tail: tail})
	}
	for _, k := range []int{8, 16} {
		add(16, 8, k, "f16", "f16", "f16", "", "")
		add(16, 8, k, "f32", "f16", "f16", "", "")
		add(16, 8, k, "f32", "bf16", "bf16", "", "")
		add(16, 8, k, "f64", "f64", "f64", "", "")
		add(16, 8, k/2, "f32", "tf32", "tf32", "", "")
	}
	add(8, 8, 4, "f64", "f64", "f64", "", "")
	add(16, 8, 4, "f64", "f64", "f64", "", "")
	for _, a := range []string{"e4m3", "e5m2"} {
		for _, b := range []string{"e4m3", "e5m2"} {
			for _, k := range []int{16, 32} {
				add(16, 8, k, "f32", a, b, "", "")
				add(16, 8, k, "f16", a, b, "", "")
			}
		}
	}
	for _, signs := range []string{"ss", "su", "us", "uu"} {
		for _, saturate := range []string{"", ".satfinite"} {
			for bits, k := range map[string]int{"8": 16, "4": 32} {
				a, b := signs[:1]+bits, signs[1:]+bits
				add(8, 8, k, "s32", a, b, saturate, "")
				add(16, 8, k, "s32", a, b, saturate, "")
				add(16, 8, 2*k, "s32", a, b, saturate, "")
			}
		}
	}
	for _, how := range []string{".xor.popc", ".and.popc"} {
		add(8, 8, 128, "s32", "b1", "b1", "", how)
		add(16, 8, 128, "s32", "b1", "b1", "", how)
		add(16, 8, 256, "s32", "b1", "b1", "", how)
	}
	return all
}

// multiply is what two elements of types contribute.
func (tt mmaTest) multiply(x, y int) int {
	switch tt.tail {
	case ".xor.popc":
		return x ^ y
	case ".and.popc":
		return x & y
	}
	return x * y
}

// limit is an accumulator of a sum that may not fit.
func (tt mmaTest) limit(sum int) int {
	switch {
	case tt.d == "s32" && tt.front == ".satfinite":
		return max(math.MinInt32, min(sum, math.MaxInt32))
	case tt.d == "s32":
		return int(int32(sum))
	}
	return sum
}

// The places of elements as PTX ISA, "Matrix Fragments for mma", gives them by formulas: the lane, and which
// of its elements. In a register there are per.
func placeInA(rows, row, k, per int) (lane, element int) {
	lane, element = row%8*4+k%(4*per)/per, k%per+k/(4*per)*per
	if rows == 16 { // the halves of the rows alternate
		element = k%per + row/8*per + k/(4*per)*2*per
	}
	return lane, element
}

func placeInC(row, column int) (lane, element int) { return row%8*4 + column/2, row/8*2 + column%2 }

// operandsOfLanes are the registers of a warp, a lane after the other. e is metadata, of sparse products.
type operandsOfLanes struct{ a, b, c, d, e [32][]byte }

func everyK(n int) (all []int) {
	for k := range n {
		all = append(all, k)
	}
	return all
}

func (tt mmaTest) run(t *testing.T, r *rand.Rand) {
	a, b, d := smallNumbers[tt.a], smallNumbers[tt.b], smallNumbers[tt.d]
	held := func(int) []int { return everyK(tt.k) }
	per := max(1, 32/a.bits)
	if a.bits == 64 {
		per = 1
	}
	var lanes operandsOfLanes
	elements := tt.m * tt.k
	if tt.sparse != "" {
		held = tt.metadata(r, &lanes)
		elements /= 2
	}
	for l := range 32 {
		lanes.a[l] = make([]byte, elements*a.bits/8/32)
		lanes.b[l] = make([]byte, tt.n*tt.k*b.bits/8/32)
		lanes.c[l] = make([]byte, tt.m*tt.n*d.bits/8/32)
		lanes.d[l] = make([]byte, tt.m*tt.n*d.bits/8/32)
	}
	want := make([]int, tt.m*tt.n)
	for i := range want {
		want[i] = d.random(r)
		if tt.d == "f16" {
			want[i] %= 100
		}
		if tt.d == "s32" && r.IntN(2) == 0 {
			want[i] = [...]int{math.MaxInt32 - 50, math.MinInt32 + 50}[r.IntN(2)]
		}
		lane, element := placeInC(i/tt.n, i%tt.n)
		d.put(lanes.c[lane], element, want[i])
	}
	y := make([][256]int, tt.n)
	for column := range y {
		for k := range tt.k {
			y[column][k] = b.random(r)
			lane, element := placeInA(8, column, k, per)
			b.put(lanes.b[lane], element, y[column][k])
		}
	}
	for row := range tt.m {
		for j, k := range held(row) {
			x := a.random(r)
			if tt.d == "f16" {
				x %= 3
			}
			lane, element := placeInA(tt.m, row, j, per)
			a.put(lanes.a[lane], element, x)
			for column := range y {
				want[row*tt.n+column] += tt.multiply(x, y[column][k])
			}
		}
	}
	tt.launch(t, &lanes)
	for i := range want {
		lane, element := placeInC(i/tt.n, i%tt.n)
		if got := d.get(tt.d, lanes.d[lane], element); got != tt.limit(want[i]) {
			t.Fatalf("%s: row %d, column %d is %d, want %d", tt.name(), i/tt.n, i%tt.n, got, tt.limit(want[i]))
		}
	}
}

// launch executes the instruction, which fills d.
func (tt mmaTest) launch(t *testing.T, lanes *operandsOfLanes) {
	t.Helper()
	width := max(32, smallNumbers[tt.a].bits)
	var declare, load, store strings.Builder
	var lists []string
	at := 0
	for i, bytes := range []int{len(lanes.d[0]), len(lanes.a[0]), len(lanes.b[0]), len(lanes.c[0]), len(lanes.e[0])} {
		name, n := "dabce"[i:i+1], bytes*8/width
		fmt.Fprintf(&declare, ".reg .b%d %%%s<%d>;\n", width, name, n)
		for j := range n {
			if i == 0 {
				fmt.Fprintf(&store, "st.global.b%d [%%at+%d], %%%s%d;\n", width, at, name, j)
			} else {
				fmt.Fprintf(&load, "ld.global.b%d %%%s%d, [%%at+%d];\n", width, name, j, at)
			}
			at += width / 8
		}
		if name != "e" {
			lists = append(lists, "{"+list(name, n)+"}")
		} else if n > 0 {
			lists = append(lists, "%e0", fmt.Sprint(tt.selector))
		}
	}
	text := fmt.Sprintf(`.version 8.7
.target sm_90
.address_size 64
.visible .entry run(.param .u64 lanes)
{
	.reg .b64 %%at;
	.reg .b32 %%tid;
	%s
	ld.param.u64 %%at, [lanes];
	mov.u32 %%tid, %%tid.x;
	mad.wide.u32 %%at, %%tid, %d, %%at;
	%s
	%s %s;
	%s
	ret;
}`, declare.String(), at, load.String(), tt.name(), strings.Join(lists, ", "), store.String())
	var mem memory
	base := mem.allocate(32 * at)
	for l := range 32 {
		to := mem.at(base)[l*at+len(lanes.d[l]):]
		to = to[copy(to, lanes.a[l]):]
		to = to[copy(to, lanes.b[l]):]
		to = to[copy(to, lanes.c[l]):]
		copy(to, lanes.e[l])
	}
	k, _ := compileText(t, text).Kernel("run")
	g, err := Launch(k, Config{
		Blocks: 1, Threads: 32, Params: words(base), Memory: &mem, SMs: 1, Clock: &ticks{}, TensorCores: tensorcore.Of(9),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := finish(t, g); err != nil {
		t.Fatal(err)
	}
	for l := range 32 {
		copy(lanes.d[l], mem.at(base)[l*at:])
	}
}

// Integers, as exact floats too, are multiplied and summed exactly in all forms.
func TestAllFormsOfMMA(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, tt := range mmaTests() {
		for range 3 {
			tt.run(t, r)
		}
	}
}
