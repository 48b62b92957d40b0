package session

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"

	"gpurun/kernels/kernelfile"
)

// Kernel files go to the workers in memory that has a descriptor, because a variable of the environment holds at most
// 128 KiB (MAX_ARG_STRLEN), and the code of a kernel may be longer.

// kernelsDescriptor is where the agent leaves the kernel files, if the job has some.
const kernelsDescriptor = filesDescriptor + 1

// writeKernelFiles writes kernel files into memory; nil: there are none. The caller closes it.
func writeKernelFiles(files []*kernelfile.Bundle) (memory *os.File, err error) {
	if len(files) == 0 {
		return nil, nil
	}
	fd, err := unix.MemfdCreate("gpurun kernel files", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("passing kernel files to the ranks: %w", err)
	}
	memory = os.NewFile(uintptr(fd), "kernel files")
	if err := json.NewEncoder(memory).Encode(files); err != nil {
		return nil, errors.Join(fmt.Errorf("passing kernel files to the ranks: %w", err), memory.Close())
	}
	return memory, nil
}

// withKernelFiles adds the memory to what each worker inherits, opened anew: each reads it from its beginning.
func withKernelFiles(memory *os.File, sockets func(int) ([]*os.File, error)) func(int) ([]*os.File, error) {
	if memory == nil {
		return sockets
	}
	return func(localRank int) ([]*os.File, error) {
		files, err := sockets(localRank)
		if err != nil {
			return nil, err
		}
		again, err := os.Open(fmt.Sprintf("/proc/self/fd/%d", memory.Fd()))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("passing kernel files to rank %d: %w", localRank, err), closeAll(files))
		}
		return append(files, again), nil
	}
}

func closeAll(files []*os.File) error {
	var errs []error
	for _, f := range files {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// readKernelFiles reads in a worker what writeKernelFiles has written.
func readKernelFiles() (files []*kernelfile.Bundle, err error) {
	memory := os.NewFile(kernelsDescriptor, "kernel files")
	if memory == nil {
		return nil, fmt.Errorf("descriptor %d is not open: gpurun starts its workers itself", kernelsDescriptor)
	}
	defer memory.Close()
	if err := json.NewDecoder(memory).Decode(&files); err != nil {
		return nil, fmt.Errorf("reading the kernel files: %w", err)
	}
	return files, nil
}
