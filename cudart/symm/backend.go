package symm

import (
	"context"
	"fmt"
	"os"

	"gpurun/cudart"
)

// backend is one way of letting peers map this rank's memory.
type backend interface {
	kind() Kind
	// how says in a clause how memory is shared.
	how() string
	// malloc allocates the own memory, and export makes a handle of it.
	malloc(bytes int64) (cudart.DevicePtr, error)
	export(ptr cudart.DevicePtr) (handle, error)
	// exchange is collective. It returns the handles of all ranks, indexed
	// by rank; the own one is of no use. The caller closes them.
	exchange(ctx context.Context, ex Exchange, mine handle) ([]handle, error)
	// open maps a peer's memory. What it returns is to be unmapped, even where
	// it comes with an error.
	open(peer int, h handle) (cudart.DevicePtr, error)
	unmap(ptr cudart.DevicePtr) error
	free(ptr cudart.DevicePtr) error
}

// handle names memory to another process: by bytes or by an open file.
type handle struct {
	bytes []byte
	file  *os.File
}

func (h handle) close() error {
	if h.file == nil {
		return nil
	}
	return h.file.Close()
}

func wantOnePerRank(got, world int) error {
	if got != world {
		return fmt.Errorf("received %d answers from %d ranks", got, world)
	}
	return nil
}
