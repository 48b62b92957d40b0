package driver

import (
	"errors"
	"fmt"
	"unsafe"

	"gpurun/cudart"
)

var _ cudart.ParamPlacer = (*kernel)(nil)

// findParams asks where the kernel's parameters are. A compiler may leave room in front of the first one, so that it is
// aligned in the memory in which the kernel finds it: offsets count from the first one, as in a C struct.
func (k *kernel) findParams() error {
	a := k.dev.api
	if !a.funcGetParamInfo.Found() {
		k.paramBytes, k.paramOffsets = -1, []uint64{0}
		return nil
	}
	for begin := uint64(0); ; {
		var offset, size uint64
		err := a.call(a.funcGetParamInfo, k.handle, uintptr(len(k.paramOffsets)), uintptr(unsafe.Pointer(&offset)),
			uintptr(unsafe.Pointer(&size)))
		switch {
		case errors.Is(err, cudart.ErrInvalidValue): // an index beyond the last parameter
			return nil
		case err != nil:
			return err
		case len(k.paramOffsets) == maxParams:
			return fmt.Errorf("it has more than %d", maxParams)
		}
		if len(k.paramOffsets) == 0 {
			begin = offset
		}
		k.paramOffsets = append(k.paramOffsets, offset-begin)
		k.paramBytes, k.lastBytes = int(offset-begin+size), int(size)
	}
}

// PlaceParams replaces what [kernel.findParams] has found. The driver tells where a kernel has its parameters: one that
// is aligned to more than 16 bytes is so in the constant bank, in which parameters begin at byte 528 on compute
// capability 9.0, and so elsewhere in a C struct.
func (k *kernel) PlaceParams(offsets []int) error {
	if k.paramBytes >= 0 && len(offsets) != len(k.paramOffsets) || len(offsets) > maxParams {
		return &cudart.Error{
			Op: "cuFuncGetParamInfo", Code: cudart.ErrInvalidValue,
			Detail: fmt.Sprintf("kernel %s has %d parameters, not %d", k.name, len(k.paramOffsets), len(offsets)),
		}
	}
	k.paramOffsets = k.paramOffsets[:0]
	for _, at := range offsets {
		k.paramOffsets = append(k.paramOffsets, uint64(at))
	}
	if k.paramBytes > 0 {
		k.paramBytes = offsets[len(offsets)-1] + k.lastBytes
	}
	return nil
}
