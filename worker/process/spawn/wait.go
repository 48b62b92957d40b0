package spawn

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ExitStatus is how a process ended: by a signal, or else with a code.
type ExitStatus struct {
	Code   int
	Signal syscall.Signal
}

// Success reports whether the process exited with code 0.
func (e ExitStatus) Success() bool { return e.Code == 0 && e.Signal == 0 }

// childInfo is the part of siginfo_t that waitid(2) fills in on 64-bit Linux.
type childInfo struct {
	signo, errno, code, _ int32
	pid                   int32
	uid                   uint32
	status                int32
	_                     [100]byte
}

// Wait waits until a child has exited and leaves it a zombie. Until the child is reaped,
// no other process or process group gets its process ID.
func Wait(pid int) (ExitStatus, error) {
	const exited = 1 // CLD_EXITED; otherwise CLD_KILLED or CLD_DUMPED
	var info childInfo
	for {
		err := unix.Waitid(unix.P_PID, pid, (*unix.Siginfo)(unsafe.Pointer(&info)), unix.WEXITED|unix.WNOWAIT, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return ExitStatus{}, fmt.Errorf("waiting for pid %d: %w", pid, err)
		case info.code == exited:
			return ExitStatus{Code: int(info.status)}, nil
		}
		return ExitStatus{Signal: syscall.Signal(info.status)}, nil
	}
}
