package matmul

import (
	"fmt"

	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// matrix is what a tensor map describes: rows of 16-bit elements, and the box of boxRows x 64 elements that is copied at a time.
type matrix struct {
	address uint64
	rows, k int64
	boxRows int
	dtype   string
}

// encodedMap is a tensor map as kernels read it.
type encodedMap = [cudart.TensorMapBytes]byte

// mapOf is the tensor map of a matrix, encoded at its first use. There are a few for each problem.
func (r *Runner) mapOf(m matrix) (encodedMap, error) {
	if text, ok := r.maps[m]; ok {
		return text, nil
	}
	types := map[string]cudart.TensorType{collective.Half.Name: cudart.TensorFloat16, collective.BFloat16.Name: cudart.TensorBFloat16}
	text, err := r.Device.EncodeTensorMap(cudart.TensorMap{
		Base: cudart.DevicePtr(m.address), Type: types[m.dtype],
		Sizes: []int64{m.k, m.rows}, Strides: []int64{2 * m.k},
		Box: []int{wgmmaSlice, m.boxRows}, Swizzle: 2 * wgmmaSlice, L2Promotion: 256,
	})
	if err != nil {
		return encodedMap{}, fmt.Errorf("describing a matrix of %d x %d: %w", m.rows, m.k, err)
	}
	if r.maps == nil {
		r.maps = map[matrix]encodedMap{}
	}
	r.maps[m] = text
	return text, nil
}
