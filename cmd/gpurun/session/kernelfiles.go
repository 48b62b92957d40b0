package session

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"gpurun/kernels/kernelfile"
)

// kernelFilesDescriptor is where the agent leaves the kernel files of a job, if it has any: with their code they are too
// large for an environment variable. All workers read the same anonymous file.
const kernelFilesDescriptor = filesDescriptor + 1

// kernelFiles is the anonymous file; nil: the job has no kernel files.
type kernelFiles struct{ file *os.File }

func writeKernelFiles(bundles []*kernelfile.Bundle) (k kernelFiles, err error) {
	if len(bundles) == 0 {
		return k, nil
	}
	fd, err := unix.MemfdCreate("gpurun kernel files", unix.MFD_CLOEXEC)
	if err != nil {
		return k, fmt.Errorf("making an anonymous file for kernel files: %w", err)
	}
	k.file = os.NewFile(uintptr(fd), "kernel files")
	if err := json.NewEncoder(k.file).Encode(bundles); err != nil {
		k.close()
		return k, fmt.Errorf("writing the kernel files for the workers: %w", err)
	}
	return k, nil
}

// add appends a descriptor of the file for one worker to those that it gets anyway. The agent closes them.
func (k kernelFiles) add(files []*os.File) ([]*os.File, error) {
	if k.file == nil {
		return files, nil
	}
	fd, err := unix.FcntlInt(k.file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return files, fmt.Errorf("passing the kernel files to a worker: %w", err)
	}
	return append(files, os.NewFile(uintptr(fd), "kernel files")), nil
}

func (k kernelFiles) close() {
	if k.file != nil {
		k.file.Close()
	}
}

// readKernelFiles reads what the agent wrote. Workers share the file's offset, and so read from given places.
func readKernelFiles() ([]*kernelfile.Bundle, error) {
	file := os.NewFile(kernelFilesDescriptor, "kernel files")
	if file == nil {
		return nil, fmt.Errorf("descriptor %d is not open: gpurun starts its workers itself", kernelFilesDescriptor)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, fmt.Errorf("reading the kernel files: %w", err)
	}
	var bundles []*kernelfile.Bundle
	if err := json.NewDecoder(io.NewSectionReader(file, 0, info.Size())).Decode(&bundles); err != nil {
		return nil, fmt.Errorf("reading the kernel files: %w", err)
	}
	return bundles, nil
}
