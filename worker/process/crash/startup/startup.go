// Package startup ends a process at once, with a sentence and exit code 3, if its limits are so low that the Go runtime
// would crash before main.
//
// It imports package syscall alone. Go initializes a package as soon as its imports are, in the order of import paths:
// this one comes before package os, and so before all packages that need files. One of protobuf's packages opens the
// executable while it is initialized, which starts the runtime's network poller, and that crashes without descriptors.
package startup

import "syscall"

const (
	// pipes have more descriptors than a process opens before main: the executable's, and those of epoll and eventfd of
	// the network poller.
	pipes = 2
	// leastUserProcesses is a limit of processes and threads under which the runtime's first threads cannot be created.
	leastUserProcesses = 6
	// rlimitNProc is RLIMIT_NPROC of Linux, which package syscall does not have.
	rlimitNProc = 6
	// environment is exit.Environment of cmd/gpurun, which cannot be imported here.
	environment = 3
)

var _ = check()

// check ends the process with a sentence if a limit is too low.
func check() bool {
	var text string
	switch {
	case !enoughFiles():
		text = "too few files may be opened (ulimit -n is " + limit(syscall.RLIMIT_NOFILE) +
			"), and gpurun needs 32 and about 10 for each rank: raise it"
	case !enoughThreads():
		text = "too few threads may be created (ulimit -u is " + limit(rlimitNProc) +
			"), and gpurun needs 24 and about 12 for each rank: raise it"
	default:
		return true
	}
	_, _ = syscall.Write(2, []byte("gpurun: "+text+"\n")) // without a reader there is nobody to tell
	syscall.Exit(environment)
	return false
}

// enoughFiles reports whether the process may open the files that it needs before main.
func enoughFiles() bool {
	var opened [2 * pipes]int
	n, enough := 0, true
	for enough && n < len(opened) {
		enough = syscall.Pipe2(opened[n:n+2], syscall.O_CLOEXEC) != syscall.EMFILE
		n += 2
	}
	for _, fd := range opened[:n] {
		if fd > 0 {
			_ = syscall.Close(fd)
		}
	}
	return enough
}

// enoughThreads reports whether the limit of processes lets the runtime begin. It does not hold for root.
func enoughThreads() bool {
	var l syscall.Rlimit
	return syscall.Getuid() == 0 || syscall.Getrlimit(rlimitNProc, &l) != nil || l.Cur >= leastUserProcesses
}

// limit is a limit of this process in decimal.
func limit(resource int) string {
	var l syscall.Rlimit
	if syscall.Getrlimit(resource, &l) != nil {
		return "unknown"
	}
	var digits []byte
	for n := l.Cur; n > 0 || digits == nil; n /= 10 {
		digits = append([]byte{byte('0' + n%10)}, digits...)
	}
	return string(digits)
}
