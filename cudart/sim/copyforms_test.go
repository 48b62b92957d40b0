package sim

import (
	"encoding/binary"
	"math"
	"math/rand/v2"
	"testing"

	"gpurun/cudart"
)

// copyForm is a kernel of a block or a cluster that copies asynchronously, and what it makes of a buffer of
// 2048 bytes of data and 2048 of output.
type copyForm struct {
	name, body string
	threads    int
	data       func(r *rand.Rand, buffer []byte)
	want       func(buffer []byte)
	cluster    int // blocks; 0 for one block without a cluster
}

const copyHalf = 2048

func (f copyForm) text() string {
	return `.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 buffer)
{
	.reg .b64 %data, %out, %from, %to, %state, %hint;
	.reg .b32 %thread, %a, %b, %c, %d, %s, %bar, %n;
	.reg .pred p, q, first;
	.shared .align 128 .b8 tile[4096];
	.shared .align 8 .b8 barrier[16];
	ld.param.u64 %data, [buffer];
	cvta.to.global.u64 %data, %data;
	add.u64 %out, %data, 2048;
	mov.u32 %thread, %tid.x;
	mov.u32 %bar, barrier;
	mov.u32 %s, tile;
	mad.lo.u32 %s, %thread, 16, %s;
	mad.wide.u32 %from, %thread, 16, %data;
	mad.wide.u32 %to, %thread, 16, %out;
	setp.eq.u32 first, %thread, 0;
	` + f.body + `
	ret;
}
`
}

// check runs the form on a device and compares with what it should make.
func (f copyForm) check(t *testing.T, d cudart.Device, seed uint64) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 9))
	buffer := randomBytes(r, 2*copyHalf)
	if f.data != nil {
		f.data(r, buffer)
	}
	got := runMatrices(t, d, f.text(), cudart.Launch{Blocks: max(1, f.cluster), Threads: f.threads, Cluster: f.cluster},
		buffer)
	f.want(buffer)
	if at := firstDifference(got, buffer); at >= 0 {
		t.Errorf("%s: byte %d of the output is %#x, want %#x", f.name, at-copyHalf, got[at], buffer[at])
	}
}

// The parts of bodies.
const (
	// copyIn brings a thread's 16 bytes to shared memory.
	copyIn = `
	ld.global.v4.b32 {%a, %b, %c, %d}, [%from];
	st.shared.v4.b32 [%s], {%a, %b, %c, %d};
	fence.proxy.async.shared::cta;
	bar.sync 0;
`
	copyOut = `
	ld.shared.v4.b32 {%a, %b, %c, %d}, [%s];
	st.global.v4.b32 [%to], {%a, %b, %c, %d};
`
	initBarrier = `
	@first mbarrier.init.shared::cta.b64 [barrier], 1;
	@first fence.mbarrier_init.release.cluster;
	bar.sync 0;
`
	awaitBarrier = `
wait:
	mbarrier.try_wait.parity.shared::cta.b64 p, [barrier], 0;
	@!p bra wait;
`
)

// reduceTypes says how elements of a type are reduced, by Go's own arithmetic. The floats are small integers.
type reduceType struct {
	bytes  int
	ops    string
	encode func(x int) uint64
	decode func(v uint64) int
}

func integersOf(bits int, signed bool) reduceType {
	return reduceType{bytes: bits / 8, encode: func(x int) uint64 { return uint64(x) }, decode: func(v uint64) int {
		if signed {
			return int(int64(v<<(64-bits)) >> (64 - bits))
		}
		return int(v)
	}}
}

func floatsOf(bytes int, encode func(x int) uint64) reduceType {
	decoded := map[uint64]int{}
	for x := -300; x <= 300; x++ {
		decoded[encode(x)] = x
	}
	return reduceType{bytes: bytes, encode: encode, decode: func(v uint64) int { return decoded[v] }}
}

func reduceTypes() map[string]reduceType {
	single := func(x int) uint64 { return uint64(math.Float32bits(float32(x))) }
	types := map[string]reduceType{
		"u32": integersOf(32, false), "s32": integersOf(32, true), "u64": integersOf(64, false), "s64": integersOf(64, true),
		"b32": integersOf(32, false), "b64": integersOf(64, false),
		"f32":  floatsOf(4, single),
		"f64":  floatsOf(8, func(x int) uint64 { return math.Float64bits(float64(x)) }),
		"bf16": floatsOf(2, func(x int) uint64 { return single(x) >> 16 }),
		"f16": floatsOf(2, func(x int) uint64 {
			if x == 0 {
				return 0
			}
			v := single(x) // its exponent is rebiased
			return v>>16&0x8000 | (v>>23&0xff-112)<<10 | v>>13&0x3ff
		}),
	}
	for name, ops := range map[string]string{
		"u32": "add min max inc dec", "s32": "add min max", "u64": "add min max", "s64": "min max",
		"b32": "and or xor", "b64": "and or xor", "f32": "add", "f64": "add", "f16": "add min max", "bf16": "add min max",
	} {
		t := types[name]
		t.ops = ops
		types[name] = t
	}
	return types
}

// reduce is one element of a reduction.
func reduceElements(op string, old, v int) int {
	switch op {
	case "add":
		return old + v
	case "min":
		return min(old, v)
	case "max":
		return max(old, v)
	case "and":
		return old & v
	case "or":
		return old | v
	case "xor":
		return old ^ v
	case "inc":
		if uint(old) >= uint(v) {
			return 0
		}
		return old + 1
	}
	if old == 0 || uint(old) > uint(v) {
		return v
	}
	return old - 1
}

// eachElement calls f for the elements of the first n bytes of data and output.
func (t reduceType) eachElement(buffer []byte, n int, f func(data, out []byte)) {
	for at := 0; at < n; at += t.bytes {
		f(buffer[at:][:t.bytes], buffer[copyHalf+at:][:t.bytes])
	}
}

func (t reduceType) put(to []byte, x int) {
	var v [8]byte
	binary.LittleEndian.PutUint64(v[:], t.encode(x))
	copy(to, v[:t.bytes])
}

func (t reduceType) get(from []byte) int {
	var v [8]byte
	copy(v[:t.bytes], from)
	return t.decode(binary.LittleEndian.Uint64(v[:]))
}

// reduceInPeer is a body in which block 0 of a cluster reduces into the shared memory of block 1, which has filled
// it with the output, and writes it back.
func reduceInPeer(suffix string) string {
	return initBarrier + `
	mov.u32 %n, %cluster_ctarank;
	setp.eq.u32 q, %n, 1;
	@!q bra source;
	mov.u64 %from, %to;
source:
` + copyIn + `
	@q bra target;
	barrier.cluster.arrive;
	barrier.cluster.wait;
	@!first bra done;
	mapa.shared::cluster.u32 %a, %s, 1;
	mapa.shared::cluster.u32 %b, %bar, 1;
	cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes` + suffix + ` [%a], [%s], 1008, [%b];
	bra done;
target:
	@first mbarrier.arrive.expect_tx.shared::cta.b64 _, [barrier], 1008;
	barrier.cluster.arrive;
	barrier.cluster.wait;
` + awaitBarrier + copyOut + `
done:
	barrier.cluster.arrive;
	barrier.cluster.wait;
`
}

// reduceForm reduces 1008 bytes into the output, or into shared memory that is copied there.
func reduceForm(name, op string, t reduceType, shared bool) copyForm {
	suffix := "." + op + "." + name
	if op == "add" && t.bytes == 2 {
		suffix = ".add.noftz." + name
	}
	f := copyForm{name: "reduce" + suffix, threads: 64}
	f.body = copyIn + `
	@!first bra done;
	cp.reduce.async.bulk.global.shared::cta.bulk_group` + suffix + ` [%out], [%s], 1008;
	cp.async.bulk.commit_group;
	cp.async.bulk.wait_group 0;
done:
`
	if shared {
		f.name += " in shared memory"
		f.cluster = 2
		f.body = reduceInPeer(suffix)
	}
	least := -100
	if name == "u64" { // as an int it would be negative
		least = 0
	}
	f.data = func(r *rand.Rand, buffer []byte) {
		t.eachElement(buffer, 1024, func(data, out []byte) {
			t.put(data, r.IntN(201)+least)
			t.put(out, r.IntN(201)+least)
		})
	}
	f.want = func(buffer []byte) {
		t.eachElement(buffer, 1008, func(data, out []byte) { t.put(out, reduceElements(op, t.get(out), t.get(data))) })
	}
	return f
}
