package sim

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"strings"
	"testing"

	"gpurun/cudart"
)

// Copies of boxes that differ by type, steps and fill, reductions, and maps that a kernel has changed.

// tensorFormsPTX is kernels with the parameters of tensorPTX.
func tensorFormsPTX() string {
	var text strings.Builder
	text.WriteString(".version 8.3\n.target sm_90a\n.address_size 64\n")
	const load = "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%dst], [%map, {%x, " +
		"%y}], [%bar];"
	text.WriteString(tensorKernel("load", partFill+partStart+partArrive+load+partWait+partDump))
	text.WriteString(tensorKernel("prefetch", partFill+partStart+partArrive+
		"prefetch.tensormap [%map];\ncp.async.bulk.prefetch.tensor.2d.L2.global.tile [%map, {%x, %y}];\n"+load+partWait+
		partDump))
	for _, op := range strings.Fields("add min max inc dec and or xor") {
		reduce := "cp.reduce.async.bulk.tensor.2d.global.shared::cta." + op + ".tile.bulk_group [%map, {%x, %y}], [%dst];"
		text.WriteString(tensorKernel(op, partTake+partReady+partFirst+reduce+partCommit))
	}
	text.WriteString(tensorKernel("replace", partFill+partStart+partReplace+partArrive+load+partWait+partDump))
	return text.String()
}

// partReplace makes another map of a map of bytes: rows of 100 words from byte 400 on, in steps of two
// rows, in boxes of 32 words by 8, swizzled by 128 bytes. It puts it into the place of the first one, by
// way of shared memory. The first warp does that.
const partReplace = `
	setp.gt.u32 %p, %thread, 31;
	@%p bra replaced;
	.shared .align 128 .b8 map[128];
	.reg .b64 %base;
	mov.u32 %at, map;
	mad.lo.u32 %i, %thread, 4, %at;
	mad.wide.u32 %far, %thread, 4, %map;
	ld.global.b32 %word, [%far];
	st.shared.b32 [%i], %word;
	bar.warp.sync -1;
	@!%first bra copied;
	ld.global.b64 %base, [%data];
	add.u64 %base, %base, 400;
	tensormap.replace.tile.global_address.shared::cta.b1024.b64 [%at], %base;
	tensormap.replace.tile.rank.shared::cta.b1024.b32 [%at], 1;
	tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%at], 2;
	tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%at], 0, 100;
	tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [%at], 1, 30;
	tensormap.replace.tile.global_stride.shared::cta.b1024.b64 [%at], 0, 400;
	tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%at], 0, 32;
	tensormap.replace.tile.box_dim.shared::cta.b1024.b32 [%at], 1, 16;
	tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%at], 0, 1;
	tensormap.replace.tile.element_stride.shared::cta.b1024.b32 [%at], 1, 2;
	tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%at], 0;
	tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%at], 3;
	tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%at], 0;
copied:
	bar.warp.sync -1;
	tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%map], [map], 128;
	fence.proxy.tensormap::generic.acquire.gpu [%map], 128;
replaced:
`

// boxWords are the elements of a box of 32-bit or smaller ones, in order, as they are in the tensor; ok is
// false outside.
func eachBoxElement(m cudart.TensorMap, corner []int32, f func(i, at int, ok bool)) {
	size, i := m.Type.Bytes(), 0
	for y := 0; y < m.Box[1]; y += m.Step(1) {
		for x := range m.Box[0] {
			column, row := int64(corner[0])+int64(x), int64(corner[1])+int64(y)
			ok := column >= 0 && column < m.Sizes[0] && row >= 0 && row < m.Sizes[1]
			f(i*size, int(column)*size+int(row*m.Strides[0]), ok)
			i++
		}
	}
}

// loadedAs is what a load makes of an element.
func loadedAs(t cudart.TensorType, b []byte) []byte {
	v := uint32(0)
	if t == cudart.TensorTF32 || t == cudart.TensorTF32FTZ {
		v = binary.LittleEndian.Uint32(b)
	}
	switch {
	case v&0x7fffffff > 0x7f800000:
		return []byte{0, 0xe0, 0xff, 0x7f}
	case v&0x7f800000 == 0x7f800000 || v == 0:
		return b
	}
	return binary.LittleEndian.AppendUint32(nil, (v+0x0fff+v>>13&1)&^0x1fff)
}

func (r *tensorRig) checkLoadOf(entry string, m cudart.TensorMap, corner []int32, random *rand.Rand) {
	r.t.Helper()
	tensor := randomBytes(random, int(m.Strides[0]*m.Sizes[1]))
	if m.Type >= cudart.TensorFloat32FTZ { // with subnormal numbers, ties between numbers of tf32, and infinities
		for i := 0; i < len(tensor); i += 4 {
			v := binary.LittleEndian.Uint32(tensor[i:])
			v = []uint32{
				v, v & 0x807fffff, v&^0x1fff | 0x1000, v&0x807fe000 | 0x1000, v&0x80000000 | 0x7f800000, v | 0x7f801000,
			}[random.IntN(6)]
			binary.LittleEndian.PutUint32(tensor[i:], v)
		}
	}
	size := m.Type.Bytes()
	want := make([]byte, m.BoxBytes())
	eachBoxElement(m, corner, func(i, at int, ok bool) {
		switch {
		case ok:
			copy(want[i:], loadedAs(m.Type, tensor[at:at+size]))
		case m.FillNaN:
			copy(want[i:i+size], bytes.Repeat([]byte{0xf7, 0x7f}, size/2))
		}
	})
	_, got := r.runMap(entry, m, corner, 0, 1, tensor, make([]byte, len(want)))
	if at := firstDifference(got, want); at >= 0 {
		at -= at % size
		r.t.Errorf("%s, %+v: byte %d is %x, want %x", entry, m, at, got[at:at+size], want[at:at+size])
	}
}

// reducible are the types of tensors, by the PTX types of their elements.
var reducible = map[string]cudart.TensorType{
	"u32": cudart.TensorUint32, "s32": cudart.TensorInt32, "u64": cudart.TensorUint64, "s64": cudart.TensorInt64,
	"f16": cudart.TensorFloat16, "bf16": cudart.TensorBFloat16, "f32": cudart.TensorFloat32,
}

func (r *tensorRig) checkReduce(name, op string, random *rand.Rand) {
	r.t.Helper()
	typ := reduceTypes()[name]
	m := cudart.TensorMap{
		Type: reducible[name], Sizes: []int64{int64(256 / typ.bytes), 20}, Strides: []int64{288},
		Box: []int{64 / typ.bytes, 6}, Swizzle: 64,
	}
	corner := []int32{int32(224 / typ.bytes), 17} // over both edges
	tensor, data := make([]byte, 288*20), make([]byte, m.BoxBytes())
	for _, b := range [][]byte{tensor, data} {
		for at := 0; at < len(b); at += typ.bytes {
			typ.put(b[at:at+typ.bytes], random.IntN(100))
		}
	}
	want := bytes.Clone(tensor)
	eachBoxElement(m, corner, func(i, at int, ok bool) {
		if place := i ^ i>>3&0x30; ok { // the swizzle
			typ.put(want[at:at+typ.bytes], reduceElements(op, typ.get(tensor[at:]), typ.get(data[place:])))
		}
	})
	got, _ := r.runMap(op, m, corner, 0, 1, tensor, data)
	// What lies behind a row within 16 bytes may be reduced too; here nothing does.
	if at := firstDifference(got, want); at >= 0 {
		r.t.Errorf("%s of %s: byte %d of the tensor is %#x, want %#x", op, name, at, got[at], want[at])
	}
}

func (r *tensorRig) checkReplaced(random *rand.Rand) {
	r.t.Helper()
	first := cudart.TensorMap{
		Type: cudart.TensorUint8, Sizes: []int64{64, 8, 2}, Strides: []int64{64, 512}, Box: []int{64, 4, 2}, Swizzle: 0,
		FillNaN: false,
	}
	m := cudart.TensorMap{
		Type: cudart.TensorUint32, Sizes: []int64{100, 30}, Strides: []int64{400}, Box: []int{32, 16}, Steps: []int{1, 2},
		Swizzle: 128,
	}
	tensor := randomBytes(random, 400*31)
	want := make([]byte, 1024)
	eachBoxElement(m, []int32{80, 20}, func(i, at int, ok bool) {
		if ok {
			copy(want[i^i>>3&0x70:][:4], tensor[400+at:])
		}
	})
	r.replaces(first, tensor, want)
}

// replaces runs the kernel, whose first word of data is the address of the tensor.
func (r *tensorRig) replaces(first cudart.TensorMap, tensor, want []byte) {
	r.t.Helper()
	at, out, encoded := mustMalloc(r.t, r.d, int64(len(tensor))), mustMalloc(r.t, r.d, int64(len(want))),
		mustMalloc(r.t, r.d, 128)
	first.Base = out
	words, err := r.d.EncodeTensorMap(first)
	if err != nil {
		r.t.Fatal(err)
	}
	data := make([]byte, len(want))
	binary.LittleEndian.PutUint64(data, uint64(at))
	for p, b := range map[cudart.DevicePtr][]byte{at: tensor, out: data, encoded: words[:]} {
		if err := r.s.Upload(p, b); err != nil {
			r.t.Fatal(err)
		}
	}
	k, err := r.module.Kernel("replace")
	if err != nil {
		r.t.Fatal(err)
	}
	block := params(uint64(encoded), uint64(out))
	for _, x := range []int{80, 20, 0, 0, 0, len(want), 0, len(want), 0, 0} {
		block = binary.LittleEndian.AppendUint32(block, uint32(x))
	}
	if err := r.s.Launch(k, cudart.Launch{Blocks: 1, Threads: 128}, block); err != nil {
		r.t.Fatal(err)
	}
	got := make([]byte, len(want))
	if err := r.s.Download(got, out); err != nil {
		r.t.Fatal(err)
	}
	if at := firstDifference(got, want); at >= 0 {
		r.t.Errorf("a replaced map: byte %d is %#x, want %#x", at, got[at], want[at])
	}
}

func checkTensorForms(t *testing.T, d cudart.Device, seed uint64) {
	module, err := d.LoadModule("tensorforms.ptx", []byte(tensorFormsPTX()))
	if err != nil {
		t.Fatal(err)
	}
	r, random := &tensorRig{t, d, mustStream(t, d), module}, rand.New(rand.NewPCG(seed, 5))
	for typ := cudart.TensorUint8; typ.Bytes() > 0; typ++ {
		n := typ.Bytes()
		m := cudart.TensorMap{Type: typ, Sizes: []int64{int64(80 / n), 21}, Strides: []int64{96}, Box: []int{64 / n, 9}}
		r.checkLoadOf("load", m, []int32{int32(32 / n), 15}, random)
		m.Steps, m.FillNaN = []int{1, 4}, typ.IsFloat()
		r.checkLoadOf("prefetch", m, []int32{int32(-16 / n), -3}, random)
	}
	for name := range reducible {
		for _, op := range strings.Fields(reduceTypes()[name].ops) {
			r.checkReduce(name, op, random)
		}
	}
	for _, op := range []string{"and", "or", "xor"} {
		for _, name := range []string{"u32", "s32", "u64"} {
			r.checkReduce(name, op, random)
		}
	}
	r.checkReplaced(random)
}

func TestTensorForms(t *testing.T) {
	for seed := range uint64(3) {
		checkTensorForms(t, openWith(t, Options{Major: 9, Seed: seed}), seed)
	}
}

func TestGPUTensorForms(t *testing.T) { checkTensorForms(t, openHopper(t), 1) }
