package driver

import (
	"fmt"
	"unsafe"

	"gpurun/cudart"
)

// tensorMapAlign is what the driver wants of the address that it encodes to: 64
// since CUDA 12, and 128 since CUDA 13.
const tensorMapAlign = 128

// tensorMapArgs is the memory that cuTensorMapEncodeTiled reads and writes.
type tensorMapArgs struct {
	encoded        [cudart.TensorMapBytes + tensorMapAlign]byte // with room to align in
	sizes          [5]uint64
	strides        [4]uint64
	box            [5]uint32
	elementStrides [5]uint32
}

func newTensorMapArgs(m *cudart.TensorMap) *tensorMapArgs {
	a := &tensorMapArgs{}
	for i, n := range m.Sizes {
		a.sizes[i], a.box[i], a.elementStrides[i] = uint64(n), uint32(m.Box[i]), uint32(m.Step(i))
	}
	for i, n := range m.Strides {
		a.strides[i] = uint64(n)
	}
	return a
}

// to is where in encoded the driver writes.
func (a *tensorMapArgs) to() *[cudart.TensorMapBytes]byte {
	skip := -uintptr(unsafe.Pointer(&a.encoded)) % tensorMapAlign
	return (*[cudart.TensorMapBytes]byte)(a.encoded[skip:])
}

// swizzles and promotions give the numbers of CUtensorMapSwizzle and
// CUtensorMapL2promotion, by bytes.
var (
	swizzles   = map[int]uintptr{0: 0, 32: 1, 64: 2, 128: 3}
	promotions = map[int]uintptr{0: 0, 64: 1, 128: 2, 256: 3}
)

// EncodeTensorMap has the driver encode m. Nothing is interleaved.
func (d *device) EncodeTensorMap(m cudart.TensorMap) ([cudart.TensorMapBytes]byte, error) {
	const op, noInterleave, fillNaN = "cuTensorMapEncodeTiled", 0, 1
	var none [cudart.TensorMapBytes]byte
	if err := m.Check(); err != nil {
		return none, &cudart.Error{Op: op, Code: cudart.ErrInvalidValue, Detail: err.Error()}
	}
	if d.info.Major < 9 {
		return none, &cudart.Error{Op: op, Code: cudart.ErrNotSupported, Detail: fmt.Sprintf(
			"tensor maps need compute capability 9.0, and %s has %d.%d", d.info.Name, d.info.Major, d.info.Minor)}
	}
	fill := uintptr(0) // zeroes
	if m.FillNaN {
		fill = fillNaN
	}
	a := newTensorMapArgs(&m)
	encoded := a.to()
	err := d.api.call(d.api.tensorMapEncodeTiled,
		uintptr(unsafe.Pointer(encoded)), uintptr(m.Type), uintptr(len(m.Sizes)), uintptr(m.Base),
		uintptr(unsafe.Pointer(&a.sizes)), uintptr(unsafe.Pointer(&a.strides)),
		uintptr(unsafe.Pointer(&a.box)), uintptr(unsafe.Pointer(&a.elementStrides)),
		noInterleave, swizzles[m.Swizzle], promotions[m.L2Promotion], fill)
	if err != nil {
		return none, fmt.Errorf("encoding a tensor map of %d dimensions at %#x: %w", len(m.Sizes), uint64(m.Base), err)
	}
	return *encoded, nil
}
