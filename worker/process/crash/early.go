package crash

import (
	"fmt"

	"golang.org/x/sys/unix"

	_ "gpurun/worker/process/crash/startup" // ends the process if main cannot be reached
)

// leastRuntimeMemory is the address space that must be left when main begins: heap arenas of 64 MiB, and stacks of 8
// MiB for the threads that the runtime has not yet created.
const leastRuntimeMemory = 256 << 20

// CheckRuntime returns why the Go runtime would soon crash for lack of address space, or nil. main calls it first.
// Package startup finds what would crash before main, except for this: the runtime reserves memory before it
// initializes any package.
func CheckRuntime() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &limit); err != nil || limit.Cur == unix.RLIM_INFINITY {
		return nil
	}
	memory, err := unix.Mmap(-1, 0, leastRuntimeMemory, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err == nil {
		err = unix.Munmap(memory)
	}
	if err != nil {
		return fmt.Errorf("less than %d MiB of address space are left, and ulimit -v is %d: raise it", leastRuntimeMemory>>20,
			limit.Cur>>10)
	}
	return nil
}
