package matmul

import (
	"fmt"

	"gpurun/cudart"
	"gpurun/kernels/collective"
)

// matrix is what a tensor map describes: rows of elements of 16 bits, and the box of so
// many of them by 64 elements that is copied at a time.
type matrix struct {
	address uint64
	rows, k int64
	boxRows int
	dtype   string
}

// mapOf is where the tensor map of a matrix lies in device memory. It is made when it is
// first asked for: who captures asks before. Nobody frees it before the device closes:
// there are a few for each problem, of 128 bytes.
func (r *Runner) mapOf(m matrix) (cudart.DevicePtr, error) {
	if at, ok := r.maps[m]; ok {
		return at, nil
	}
	types := map[string]cudart.TensorType{collective.Half.Name: cudart.TensorFloat16, collective.BFloat16.Name: cudart.TensorBFloat16}
	text, err := r.Device.EncodeTensorMap(cudart.TensorMap{
		Base: cudart.DevicePtr(m.address), Type: types[m.dtype],
		Sizes: []int64{m.k, m.rows}, Strides: []int64{2 * m.k},
		Box: []int{wgmmaSlice, m.boxRows}, Swizzle: 2 * wgmmaSlice, L2Promotion: 256,
	})
	if err != nil {
		return 0, fmt.Errorf("describing a matrix of %d x %d: %w", m.rows, m.k, err)
	}
	at, err := r.Device.Malloc(cudart.TensorMapBytes)
	if err != nil {
		return 0, fmt.Errorf("allocating a tensor map: %w", err)
	}
	if err := r.Main.Upload(at, text[:]); err != nil {
		return 0, fmt.Errorf("uploading a tensor map: %w", err)
	}
	if r.maps == nil {
		r.maps = map[matrix]cudart.DevicePtr{}
	}
	r.maps[m] = at
	return at, nil
}
