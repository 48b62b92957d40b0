// Package fdpass passes file descriptors between the processes of one
// host.
//
// The agent makes a socket pair for each worker before it starts it, and
// relays what arrives from one to all others:
//
//	worker 0 --\                      /--> worker 1
//	            +-- Pair -- Relay ---+
//	            (SCM_RIGHTS)          \--> worker 2
//
// Since every worker inherits its end, no PID namespace, TMPDIR, or ptrace
// setting is in the way, and nothing is left in the file system.
package fdpass

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// Pair makes a connected pair of sockets. The agent's end goes to Relay.Add,
// the worker's into exec.Cmd's ExtraFiles and, in the worker, to Open. The
// caller owns both.
func Pair() (agent, worker *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("making a socket pair: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "fdpass agent"), os.NewFile(uintptr(fds[1]), "fdpass worker"), nil
}

// unixConn turns an inherited socket into a connection, and closes the file.
func unixConn(file *os.File) (*net.UnixConn, error) {
	conn, err := net.FileConn(file)
	err = errors.Join(err, file.Close())
	if err != nil {
		if conn != nil {
			err = errors.Join(err, conn.Close())
		}
		return nil, err
	}
	unixConn, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, errors.Join(fmt.Errorf("file descriptor is a %T and not a Unix socket", conn), conn.Close())
	}
	return unixConn, nil
}
