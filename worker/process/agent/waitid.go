package agent

import (
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// exitStatus is how a process ended: by a signal, or else with a code.
type exitStatus struct {
	code   int
	signal syscall.Signal
}

func (e exitStatus) success() bool { return e.code == 0 && e.signal == 0 }

// childInfo is the part of siginfo_t that waitid(2) fills in on 64-bit Linux.
type childInfo struct {
	signo, errno, code, _ int32
	pid                   int32
	uid                   uint32
	status                int32
	_                     [100]byte
}

// waitExit waits until a child has exited and leaves it a zombie, so that its
// process ID, and that of its process group, cannot become a stranger's.
func waitExit(pid int) (exitStatus, error) {
	const exited = 1 // CLD_EXITED; otherwise CLD_KILLED or CLD_DUMPED
	var info childInfo
	for {
		err := unix.Waitid(unix.P_PID, pid, (*unix.Siginfo)(unsafe.Pointer(&info)), unix.WEXITED|unix.WNOWAIT, nil)
		switch {
		case err == unix.EINTR:
			continue
		case err != nil:
			return exitStatus{}, fmt.Errorf("waiting for pid %d: %w", pid, err)
		case info.code == exited:
			return exitStatus{code: int(info.status)}, nil
		}
		return exitStatus{signal: syscall.Signal(info.status)}, nil
	}
}
