package foreign

import (
	"errors"
	"fmt"
	"os"

	"gpurun/cudart"
	"gpurun/cudart/nccl"
	"gpurun/kernels/libraries"
	"gpurun/worker/library"
)

// ncclSymmetric is NCCL on registered memory. It has a communicator of its own: NCCL takes its
// symmetric kernels for all calls of a communicator whose buffers lie in windows.
type ncclSymmetric struct {
	*ncclLibrary
	window nccl.Window
}

func openNCCLSymmetric(path string) (library.Library, error) {
	lib, err := nccl.Open(path)
	if err != nil {
		return nil, err
	}
	if err := lib.SupportsWindows(); err != nil {
		return nil, err
	}
	// Without these, NCCL registers memory and takes its ordinary kernels, without an error.
	for _, name := range []string{"NCCL_WIN_ENABLE", "NCCL_CUMEM_ENABLE"} {
		if value := os.Getenv(name); value == "0" {
			return nil, fmt.Errorf("%s=%s forbids NCCL to share registered memory: unset %[1]s", name, value)
		}
	}
	return &ncclSymmetric{ncclLibrary: &ncclLibrary{lib: lib, calls: ncclSymmetricCollectives()}}, nil
}

// ncclSymmetricCollectives are those that NCCL has symmetric kernels for.
func ncclSymmetricCollectives() *collectives[*nccl.Comm, nccl.DataType, nccl.RedOp] {
	some := *ncclCollectives
	some.calls = map[string]func(*nccl.Comm, ncclArguments) error{}
	for _, name := range libraries.NCCLSymmetricCollectives() {
		some.calls[name] = ncclCollectives.calls[name]
	}
	return &some
}

// Register implements [library.Registrar].
func (l *ncclSymmetric) Register(at cudart.DevicePtr, bytes int64) (err error) {
	l.window, err = l.comm.RegisterSymmetric(at, bytes)
	return err
}

// Leave ends the window, which NCCL wants before the communicator ends.
func (l *ncclSymmetric) Leave() error {
	window := l.window
	l.window = nccl.Window{}
	return errors.Join(l.comm.Deregister(window), l.ncclLibrary.Leave())
}
