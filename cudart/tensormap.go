package cudart

import (
	"errors"
	"fmt"
	"slices"
)

// TensorMapBytes is the size of an encoded tensor map, and TensorMapAlign what
// its address must be a multiple of.
const (
	TensorMapBytes = 128
	TensorMapAlign = 64
)

// TensorMap describes a tensor in device memory, and the box of it that one
// cp.async.bulk.tensor copies to or from shared memory. Dimension 0 is the
// innermost, whose elements are adjacent. A load fills what of a box lies outside
// the tensor with zeroes or NaN, a store leaves it out. The first coordinate of a copy is a multiple
// of 16 bytes, and a store has no negative ones.
//
// It is what cuTensorMapEncodeTiled takes, without interleaving. [Device.EncodeTensorMap] turns it
// into what a kernel reads.
type TensorMap struct {
	Base    DevicePtr // of element 0, a multiple of 16
	Type    TensorType
	Sizes   []int64 // of the tensor, in elements: 1 to 5 dimensions of 1 to 2^32
	Strides []int64 // bytes between adjacent elements in dimension 1 and up; multiples of 16, below 2^40
	Box     []int   // in elements, 1 to 256 each; the innermost is a multiple of 16 bytes
	// Swizzle is 0, or the innermost extent of the box in bytes: 32, 64 or 128. The
	// copy then exchanges bits 4 and up of each shared address, 1, 2 or 3 of them, with
	// their exclusive or with those from bit 7 on. A box begins at any multiple of 128 bytes
	// in shared memory, and the pattern is that of the addresses.
	Swizzle int
	// Steps are the distances between adjacent elements of the box, 1 to 8 in each dimension, or nil for 1.
	// The box's extent counts the elements of the tensor that it spans. That of dimension 0 is 1.
	Steps []int
	// FillNaN fills what of a box of floats lies outside the tensor with NaN instead of zeroes.
	FillNaN bool
	// L2Promotion is 0, or the bytes that a read fetches to the L2 cache: 64, 128
	// or 256.
	L2Promotion int
}

// TensorType is the type of a tensor's elements. The numbers are those of CUtensorMapDataType.
type TensorType uint32

// The types of elements. Loads round elements of the types TF32 to tf32.
const (
	TensorUint8 TensorType = iota
	TensorUint16
	TensorUint32
	TensorInt32
	TensorUint64
	TensorInt64
	TensorFloat16
	TensorFloat32
	TensorFloat64
	TensorBFloat16
	TensorFloat32FTZ
	TensorTF32
	TensorTF32FTZ
	// Elements of 4 and 6 bits, which are packed in device memory, 16 behind one another. In shared memory 16 elements
	// take 8 bytes, or with Padded in the name 16 bytes, of which the last ones are not written.
	TensorPacked4
	TensorPacked4Padded
	TensorPacked6Padded
)

// bytesOfTypes are the sizes of the types.
var bytesOfTypes = [...]int{1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4}

// Bytes is the size of an element, or 0 for an unknown type and for those of less than a byte.
func (t TensorType) Bytes() int {
	if int(t) < len(bytesOfTypes) {
		return bytesOfTypes[t]
	}
	return 0
}

// Group is how many elements are packed together, and their bytes in device memory and in shared memory: one element of
// most types, 16 of those with less than a byte. All are 0 for an unknown type.
func (t TensorType) Group() (elements, device, shared int) {
	switch t {
	case TensorPacked4:
		return 16, 8, 8
	case TensorPacked4Padded:
		return 16, 8, 16
	case TensorPacked6Padded:
		return 16, 12, 16
	}
	if n := t.Bytes(); n > 0 {
		return 1, n, n
	}
	return 0, 0, 0
}

func (t TensorType) known() bool { elements, _, _ := t.Group(); return elements > 0 }

// alignment is what box and tensor have a multiple of in dimension 0, in elements.
func (t TensorType) alignment() int {
	switch t {
	case TensorPacked4:
		return 16
	case TensorPacked4Padded, TensorPacked6Padded:
		return 128
	}
	return 1
}

// IsFloat reports whether elements are floating-point numbers.
func (t TensorType) IsFloat() bool { return t >= TensorFloat16 && t <= TensorTF32FTZ }

const (
	maxDimensions = 5
	maxElements   = int64(1) << 32
	strideLimit   = int64(1) << 40
	maxBox        = 256
	maxStep       = 8
)

// Check says what is wrong with m on any device.
func (m *TensorMap) Check() error {
	rank := len(m.Sizes)
	switch {
	case !m.Type.known():
		return fmt.Errorf("%d is no type of tensor elements", m.Type)
	case rank < 1 || rank > maxDimensions:
		return fmt.Errorf("a tensor map cannot have %d dimensions; 1 to %d are possible", rank, maxDimensions)
	case len(m.Strides) != rank-1 || len(m.Box) != rank:
		return fmt.Errorf("a tensor of %d dimensions has %d strides and %d extents of its box, not %d and %d", rank, rank-1,
			rank, len(m.Strides), len(m.Box))
	case m.Base == 0 || m.Base%16 != 0:
		return fmt.Errorf("the tensor's address %#x is not a multiple of 16", uint64(m.Base))
	}
	for i, n := range m.Sizes {
		if n < 1 || n > maxElements {
			return fmt.Errorf("dimension %d of the tensor cannot have %d elements; 1 to 2^32 are possible", i, n)
		}
	}
	for i, s := range m.Strides {
		if s <= 0 || s%16 != 0 || s >= strideLimit {
			return fmt.Errorf("a stride of %d bytes in dimension %d is no multiple of 16 below 2^40; pad the rows", s, i+1)
		}
	}
	return errors.Join(m.checkBox(), m.checkCache())
}

// checkBox says what is wrong with the part that one copy moves. CUDA also allows
// boxes that are narrower than the swizzle, with gaps in shared memory that its
// documentation leaves open.
func (m *TensorMap) checkBox() error {
	for i, n := range m.Box {
		if n < 1 || n > maxBox {
			return fmt.Errorf("dimension %d of the box cannot have %d elements; 1 to %d are possible", i, n, maxBox)
		}
	}
	row := m.sharedBytes(m.Box[0])
	switch align := m.Type.alignment(); {
	case m.Box[0]%align != 0 || m.Sizes[0]%int64(align) != 0:
		return fmt.Errorf("a tensor of type %d and its boxes need a multiple of %d elements in dimension 0", m.Type, align)
	case m.Steps != nil && len(m.Steps) != len(m.Box):
		return fmt.Errorf("a tensor of %d dimensions has %d steps", len(m.Box), len(m.Steps))
	case m.Steps != nil && (m.Steps[0] != 1 || slices.Min(m.Steps) < 1 || slices.Max(m.Steps) > maxStep):
		return fmt.Errorf("the steps between elements are %v; 1 to %d are possible, and 1 in dimension 0", m.Steps, maxStep)
	case m.FillNaN && !m.Type.IsFloat():
		return fmt.Errorf("type %d has no NaN to fill with", m.Type)
	case row%16 != 0:
		return fmt.Errorf("a row of the box has %d bytes, which is no multiple of 16", row)
	case m.Swizzle != 0 && m.Swizzle != 32 && m.Swizzle != 64 && m.Swizzle != 128:
		return fmt.Errorf("there is no swizzle of %d bytes; 0, 32, 64 and 128 are possible", m.Swizzle)
	case m.Swizzle != 0 && m.Swizzle != row:
		return fmt.Errorf("a row of the box has %d bytes, and a swizzle of %d bytes needs rows of as many", row, m.Swizzle)
	}
	return nil
}

func (m *TensorMap) checkCache() error {
	switch m.L2Promotion {
	case 0, 64, 128, 256:
		return nil
	}
	return fmt.Errorf("there is no L2 promotion of %d bytes; 0, 64, 128 and 256 are possible", m.L2Promotion)
}

// Step is the distance between adjacent elements of the box in a dimension.
func (m *TensorMap) Step(dimension int) int {
	if m.Steps == nil {
		return 1
	}
	return m.Steps[dimension]
}

// sharedBytes is what elements of a row take in shared memory.
func (m *TensorMap) sharedBytes(elements int) int {
	group, _, shared := m.Type.Group()
	return elements / group * shared
}

// BoxBytes is what one box takes in shared memory, and what a load of it adds to
// an mbarrier's transaction count, whatever lies outside the tensor. A load of padded elements adds their bytes in
// device memory.
func (m *TensorMap) BoxBytes() int {
	n := m.sharedBytes(m.Box[0])
	for i, extent := range m.Box[1:] {
		n *= (extent + m.Step(i+1) - 1) / m.Step(i+1)
	}
	return n
}
