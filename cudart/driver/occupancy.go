package driver

import (
	"fmt"
	"unsafe"

	"gpurun/cudart"
)

var _ cudart.Occupier = (*kernel)(nil)

// ResidentBlocks is the occupancy of a multiprocessor times their number. Clusters may hold fewer.
func (k *kernel) ResidentBlocks(shape cudart.Launch) (int, error) {
	if shape.SharedBytes > k.shared {
		if err := k.raiseShared(shape.SharedBytes); err != nil {
			return 0, err
		}
	}
	var blocks int32
	err := k.dev.api.call(k.dev.api.occupancy, uintptr(unsafe.Pointer(&blocks)), k.handle,
		uintptr(shape.Block().Count()), uintptr(shape.SharedBytes))
	if err != nil {
		return 0, fmt.Errorf("asking how many blocks of %s are resident at once: %w", k.name, err)
	}
	return int(blocks) * k.dev.info.SMs, nil
}
