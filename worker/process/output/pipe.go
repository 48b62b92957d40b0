package output

import (
	"errors"
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// UntilDeadline reads a pipe to its end, or to its read deadline and then the bytes that
// are in the pipe at that moment. A slow reader loses nothing, and a writer that never
// stops does not keep the reader.
func UntilDeadline(pipe *os.File) io.Reader {
	return &deadlineReader{pipe: pipe}
}

type deadlineReader struct {
	pipe *os.File
	rest io.Reader // what is left, once the deadline has passed
}

func (r *deadlineReader) Read(p []byte) (int, error) {
	if r.rest != nil {
		return r.rest.Read(p)
	}
	n, err := r.pipe.Read(p)
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		return n, err
	}
	left, err := buffered(r.pipe)
	if err != nil {
		return 0, err
	}
	r.rest = io.LimitReader(nonBlocking{r.pipe}, int64(left))
	return r.rest.Read(p)
}

// buffered returns how many bytes are in a pipe.
func buffered(pipe *os.File) (int, error) {
	raw, err := pipe.SyscallConn()
	if err != nil {
		return 0, err
	}
	var n int
	var ioctlErr error
	if err := raw.Control(func(fd uintptr) {
		n, ioctlErr = unix.IoctlGetInt(int(fd), unix.TIOCINQ)
	}); err != nil {
		return 0, err
	}
	return n, ioctlErr
}

// nonBlocking reads what is in a pipe, without regard to its deadline.
type nonBlocking struct{ pipe *os.File }

func (r nonBlocking) Read(p []byte) (n int, err error) {
	raw, err := r.pipe.SyscallConn()
	if err != nil {
		return 0, err
	}
	var readErr error
	if err := raw.Control(func(fd uintptr) { n, readErr = unix.Read(int(fd), p) }); err != nil {
		return 0, err
	}
	if readErr != nil || n == 0 {
		return 0, io.EOF
	}
	return n, nil
}
