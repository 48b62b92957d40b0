package sim

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"gpurun/cudart"
)

// tensorCopy is a box of a tensor to copy. The rows of a tensor have 16 bytes at
// least between them that belong to nobody.
type tensorCopy struct {
	typ     cudart.TensorType
	sizes   []int64
	box     []int
	swizzle int
	corner  []int32
	offset  int // in shared memory
}

func (c *tensorCopy) String() string {
	return fmt.Sprintf("type %d, tensor %v, box %v, swizzle %d, corner %v, offset %d", c.typ, c.sizes, c.box, c.swizzle,
		c.corner, c.offset)
}

// shape describes the tensor and returns its bytes.
func (c *tensorCopy) shape(base cudart.DevicePtr) (cudart.TensorMap, int64) {
	m := cudart.TensorMap{Base: base, Type: c.typ, Sizes: c.sizes, Box: c.box, Swizzle: c.swizzle, L2Promotion: 128}
	stride := (c.sizes[0]*int64(c.typ.Bytes()) + 31) / 16 * 16
	for _, n := range c.sizes[1:] {
		m.Strides = append(m.Strides, stride)
		stride *= n
	}
	return m, stride
}

func (c *tensorCopy) bytes() int {
	m, _ := c.shape(0)
	return m.BoxBytes()
}

// eachElement calls f with where an element of the box lies in shared memory, and
// in the tensor; that is -1 for what is outside. A row of the tensor ends at a multiple of
// so many bytes: of 16 for stores, which write to the padding behind it.
//
// A swizzle is described by what it does to units of 16 bytes in rows as long as
// itself, counted from an address that is a multiple of 1024, as that of the tile is.
func (c *tensorCopy) eachElement(unit int, f func(shared, tensor int)) {
	m, _ := c.shape(0)
	size := c.typ.Bytes()
	ends := slices.Clone(c.sizes)
	ends[0] = int64((int(ends[0])*size + unit - 1) / unit * unit / size)
	for i := range c.bytes() / size {
		at, rest := 0, i
		for d, n := range c.box {
			x := int64(c.corner[d]) + int64(rest%n)
			rest /= n
			switch {
			case x < 0 || x >= ends[d]:
				at = -1 << 40
			case d == 0:
				at += int(x) * size
			default:
				at += int(x * m.Strides[d-1])
			}
		}
		place := c.offset + i*size
		if c.swizzle > 0 {
			row, unit, in := place/c.swizzle, place%c.swizzle/16, place%16
			switch c.swizzle {
			case 128: // 8 units, another order in each of 8 rows
				unit ^= row % 8
			case 64: // 4 units, another order in every second row
				unit ^= row / 2 % 4
			case 32: // 2 units, exchanged in every fourth row and the three after it
				unit ^= row / 4 % 2
			}
			place = row*c.swizzle + unit*16 + in
		}
		f(place, max(at, -1))
	}
}

// tensorRig runs tensor copies on one device.
type tensorRig struct {
	t      *testing.T
	d      cudart.Device
	s      cudart.Stream
	module cudart.Module
}

func newTensorRig(t *testing.T, d cudart.Device) *tensorRig {
	t.Helper()
	m, err := d.LoadModule("tensor.ptx", []byte(tensorPTX()))
	if err != nil {
		t.Fatal(err)
	}
	return &tensorRig{t, d, mustStream(t, d), m}
}

// run copies with a kernel between a tensor and data, and returns both.
func (r *tensorRig) run(entry string, c *tensorCopy, blocks int, tensor, data []byte) (tensorAfter, dataAfter []byte) {
	r.t.Helper()
	m, _ := c.shape(0)
	return r.runMap(entry, m, c.corner, c.offset, blocks, tensor, data)
}

// runMap does so with a map whose tensor is yet to be allocated.
func (r *tensorRig) runMap(entry string, m cudart.TensorMap, corner []int32, offset, blocks int, tensor,
	data []byte,
) (tensorAfter, dataAfter []byte) {
	r.t.Helper()
	at, out, encoded := mustMalloc(r.t, r.d, int64(len(tensor))), mustMalloc(r.t, r.d, int64(len(data))),
		mustMalloc(r.t, r.d, 128)
	m.Base = at
	words, err := r.d.EncodeTensorMap(m)
	if err != nil {
		r.t.Fatal(err)
	}
	for p, b := range map[cudart.DevicePtr][]byte{at: tensor, out: data, encoded: words[:]} {
		if err := r.s.Upload(p, b); err != nil {
			r.t.Fatal(err)
		}
	}
	k, err := r.module.Kernel(entry)
	if err != nil {
		r.t.Fatal(err)
	}
	block := params(uint64(encoded), uint64(out))
	for _, x := range append(slices.Clone(corner), make([]int32, 5-len(corner))...) {
		block = binary.LittleEndian.AppendUint32(block, uint32(x))
	}
	for _, x := range []int{m.BoxBytes(), offset, len(data) / blocks, m.Box[len(m.Box)-1], 0} {
		block = binary.LittleEndian.AppendUint32(block, uint32(x))
	}
	if err := r.s.Launch(k, cudart.Launch{Blocks: blocks, Threads: 128, Cluster: blocks}, block); err != nil {
		r.t.Fatal(err)
	}
	tensorAfter, dataAfter = make([]byte, len(tensor)), make([]byte, len(data))
	if err := r.s.Synchronize(r.t.Context()); err != nil {
		r.t.Fatalf("%s, %+v: %v", entry, m, err)
	}
	for p, b := range map[cudart.DevicePtr][]byte{at: tensorAfter, out: dataAfter} {
		if err := r.s.Download(b, p); err != nil {
			r.t.Fatalf("%+v: %v", m, err)
		}
	}
	for _, p := range []cudart.DevicePtr{at, out, encoded} {
		if err := r.d.Free(p); err != nil {
			r.t.Fatal(err)
		}
	}
	return tensorAfter, dataAfter
}

// checkLoad runs a load and compares with its description.
func (r *tensorRig) checkLoad(c *tensorCopy, random *rand.Rand) {
	r.t.Helper()
	_, size := c.shape(0)
	tensor, data := randomBytes(random, int(size)), make([]byte, c.offset+c.bytes()+256)
	want := bytes.Repeat([]byte{0xee}, len(data))
	n := c.typ.Bytes()
	c.eachElement(n, func(shared, at int) {
		clear(want[shared : shared+n])
		if at >= 0 {
			copy(want[shared:shared+n], tensor[at:])
		}
	})
	if _, got := r.run(fmt.Sprintf("load_%d", len(c.box)), c, 1, tensor, data); !bytes.Equal(got, want) {
		r.t.Errorf("%v: loaded something else, first at byte %d", c, firstDifference(got, want))
	}
}

// checkStore is the same for a store.
func (r *tensorRig) checkStore(c *tensorCopy, random *rand.Rand) {
	r.t.Helper()
	_, size := c.shape(0)
	tensor, data := randomBytes(random, int(size)), randomBytes(random, c.offset+c.bytes()+256)
	want := slices.Clone(tensor)
	n := c.typ.Bytes()
	c.eachElement(16, func(shared, at int) {
		if at >= 0 {
			copy(want[at:at+n], data[shared:])
		}
	})
	if got, _ := r.run(fmt.Sprintf("store_%d", len(c.box)), c, 1, tensor, data); !bytes.Equal(got, want) {
		r.t.Errorf("%v: stored something else, first at byte %d", c, firstDifference(got, want))
	}
}

// checkMulticast has two blocks load a box each, the second one below the first,
// and both get both.
func (r *tensorRig) checkMulticast(c *tensorCopy, random *rand.Rand) {
	r.t.Helper()
	_, size := c.shape(0)
	tensor := randomBytes(random, int(size))
	half := make([]byte, c.offset+2*c.bytes())
	want := bytes.Repeat([]byte{0xee}, len(half))
	for i := range 2 {
		part := *c
		part.offset += i * c.bytes()
		part.corner = []int32{c.corner[0], c.corner[1] + int32(i*c.box[1])}
		n := c.typ.Bytes()
		part.eachElement(n, func(shared, at int) {
			clear(want[shared : shared+n])
			if at >= 0 {
				copy(want[shared:shared+n], tensor[at:])
			}
		})
	}
	_, got := r.run("multicast", c, 2, tensor, make([]byte, 2*len(half)))
	if want := append(want, want...); !bytes.Equal(got, want) {
		r.t.Errorf("%v: multicast something else, first at byte %d of %d", c, firstDifference(got, want), len(want))
	}
}

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func firstDifference(a, b []byte) int {
	for i := range a {
		if a[i] != b[i] {
			return i
		}
	}
	return -1
}

// tensorCopies has boxes inside, across every edge, and wholly outside.
func tensorCopies() []*tensorCopy {
	const bf16, half, single = cudart.TensorBFloat16, cudart.TensorFloat16, cudart.TensorFloat32
	return []*tensorCopy{
		{bf16, []int64{200, 100}, []int{64, 128}, 128, []int32{64, 16}, 0},
		{bf16, []int64{200, 100}, []int{64, 32}, 128, []int32{152, 80}, 1024 * 3},
		{half, []int64{101, 7}, []int{64, 8}, 128, []int32{-8, -2}, 1024},
		{half, []int64{64, 40}, []int{32, 40}, 64, []int32{16, 0}, 0},
		{bf16, []int64{64, 40}, []int{32, 16}, 64, []int32{48, 30}, 512 * 5},
		{bf16, []int64{33, 33}, []int{16, 33}, 32, []int32{8, 1}, 256},
		{bf16, []int64{33, 33}, []int{16, 1}, 32, []int32{24, 32}, 0},
		{bf16, []int64{33, 33}, []int{16, 30}, 32, []int32{24, 2}, 128 * 3},
		{half, []int64{101, 70}, []int{32, 40}, 64, []int32{80, 8}, 128 * 7},
		{bf16, []int64{101, 70}, []int{64, 40}, 128, []int32{64, 8}, 128 * 5},
		{bf16, []int64{24, 5}, []int{8, 256}, 0, []int32{8, -100}, 0},
		{single, []int64{31, 9}, []int{32, 4}, 128, []int32{4, 7}, 0},
		{cudart.TensorUint8, []int64{77, 9}, []int{48, 3}, 0, []int32{48, 5}, 384},
		{bf16, []int64{16, 16}, []int{16, 16}, 0, []int32{104, 0}, 0},
		{bf16, []int64{1000}, []int{256}, 0, []int32{904}, 0},
		{cudart.TensorUint8, []int64{100}, []int{128}, 128, []int32{-32}, 1024},
		{bf16, []int64{64, 8, 5}, []int{64, 4, 3}, 128, []int32{0, 6, 3}, 0},
		{half, []int64{40, 3, 4}, []int{16, 2, 5}, 32, []int32{8, 1, -1}, 256 * 7},
		{half, []int64{8, 4, 5, 6}, []int{8, 3, 2, 4}, 0, []int32{0, 2, 1, 3}, 128},
		{bf16, []int64{16, 2, 3, 4, 5}, []int{16, 1, 2, 3, 4}, 32, []int32{0, 1, 2, -1, 2}, 0},
	}
}

func (r *tensorRig) checkAll(seed uint64) {
	random := rand.New(rand.NewPCG(seed, 5))
	for _, c := range tensorCopies() {
		r.checkLoad(c, random)
		if slices.Min(c.corner) >= 0 { // otherwise it is refused
			r.checkStore(c, random)
		}
	}
	r.checkMulticast(&tensorCopy{cudart.TensorBFloat16, []int64{200, 100}, []int{64, 64}, 128, []int32{128, 10}, 0},
		random)
	r.checkMulticast(&tensorCopy{cudart.TensorBFloat16, []int64{200, 20}, []int{32, 8}, 64, []int32{-8, 6}, 512}, random)
}

func TestTensorCopies(t *testing.T) {
	for seed := range uint64(4) {
		newTensorRig(t, openWith(t, Options{Seed: seed})).checkAll(seed)
	}
}

func TestGPUAndSimulatorAgreeOnTensorCopies(t *testing.T) {
	d, err := gpuBackend(t, 9).Open(0)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	newTensorRig(t, d).checkAll(1)
}
