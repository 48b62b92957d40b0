package matmul

import (
	"fmt"

	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// boxColumns is the width of a box in elements of 16 bits. A row of the box has 128 bytes, the widest swizzle.
const boxColumns = 64

// matrix is the matrix of a tensor map: rows of k 16-bit elements. One TMA copy moves a box of boxRows x boxColumns
// elements.
type matrix struct {
	address uint64
	rows, k int64
	boxRows int
	dtype   string
}

// encodedMap is a tensor map as kernels read it.
type encodedMap = [cudart.TensorMapBytes]byte

// tensorMaps holds the encoded tensor maps of matrices. There are a few for each problem.
type tensorMaps map[matrix]encodedMap

// encode returns the tensor map of a matrix. The first call for a matrix encodes the map, later calls find it.
func (t tensorMaps) encode(d cudart.Device, m matrix) (encodedMap, error) {
	if text, ok := t[m]; ok {
		return text, nil
	}
	types := map[string]cudart.TensorType{
		collective.Half.Name: cudart.TensorFloat16, collective.BFloat16.Name: cudart.TensorBFloat16,
	}
	tensor := cudart.TensorMap{
		Base: cudart.DevicePtr(m.address), Type: types[m.dtype],
		Sizes: []int64{m.k, m.rows}, Strides: []int64{2 * m.k},
		Box: []int{boxColumns, m.boxRows}, Swizzle: 2 * boxColumns, L2Promotion: 256,
	}
	text, err := d.EncodeTensorMap(tensor)
	if err != nil {
		return encodedMap{}, fmt.Errorf("describing a matrix of %d x %d: %w", m.rows, m.k, err)
	}
	t[m] = text
	return text, nil
}
