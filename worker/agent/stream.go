package agent

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// A stream passes one worker's output on to one of the agent's.
type stream struct {
	in     *os.File
	out    io.Writer
	turn   *sync.Mutex // shared by all streams that go where this one goes
	prefix string
	raw    bool  // pass bytes on as they come
	tail   *tail // keeps the last lines; nil for none

	ready []byte // what the next write to out passes on
}

// copy passes everything on until the worker and whoever inherited the pipe
// have closed it, or the read deadline has passed. When out fails it calls
// failed, once, and goes on reading, so that the worker does not block.
func (s *stream) copy(failed func(error)) {
	cutter := lines{emit: s.line}
	buffer := make([]byte, 32<<10)
	broken := false
	pass := func() {
		if len(s.ready) > 0 && !broken {
			if err := s.write(); err != nil {
				broken = true
				failed(fmt.Errorf("writing the workers' output: %w", err))
			}
		}
		s.ready = s.ready[:0]
	}
	for in := untilDeadline(s.in); ; {
		n, err := in.Read(buffer)
		if s.raw {
			s.ready = append(s.ready, buffer[:n]...)
		}
		cutter.write(buffer[:n])
		if err != nil {
			break
		}
		pass()
	}
	cutter.flush()
	pass()
}

func (s *stream) write() error {
	s.turn.Lock()
	defer s.turn.Unlock()
	_, err := s.out.Write(s.ready)
	return err
}

// line takes one line of the worker.
func (s *stream) line(line []byte) {
	if len(line) == 1 && line[0] == '\r' {
		return // progress bars begin with it
	}
	if s.tail != nil {
		s.tail.add(line)
	}
	if s.raw {
		return
	}
	s.ready = append(s.ready, s.prefix...)
	s.ready = append(s.ready, line...)
	if last := line[len(line)-1]; last != '\n' && last != '\r' {
		s.ready = append(s.ready, '\n')
	}
}

// sameFile reports whether two outputs are the same terminal, pipe or file.
func sameFile(a, b io.Writer) bool {
	fileA, okA := a.(*os.File)
	fileB, okB := b.(*os.File)
	if !okA || !okB {
		return false
	}
	infoA, errA := fileA.Stat()
	infoB, errB := fileB.Stat()
	return errA == nil && errB == nil && os.SameFile(infoA, infoB)
}

// untilDeadline reads a pipe to its end, or to its read deadline and then
// exactly what is in the pipe at that moment: a reader that was slow loses
// nothing, and a writer that never stops does not keep it.
func untilDeadline(pipe *os.File) io.Reader {
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
