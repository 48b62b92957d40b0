package agent

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// A stream passes one worker's output on to one of the agent's, and to whatever
// else its Output names.
type stream struct {
	in     *os.File
	to     Output
	out    io.Writer
	turn   *sync.Mutex // shared by all streams that go where this one goes
	prefix string
	raw    bool  // pass bytes on as they come
	tail   *tail // keeps the last lines; nil for none

	ready []byte // what the next write to out passes on
	err   error  // what failed first; then nothing is passed on any more
}

// readSize is how much is read at once: what a pipe holds.
const readSize = 64 << 10

// copy passes everything on until the worker and whoever inherited the pipe
// have closed it, or the read deadline has passed. When that fails it calls
// failed, once, and goes on reading, so that the worker does not block.
func (s *stream) copy(failed func(error)) {
	if s.to.File != nil {
		defer s.to.File.Close()
	}
	cutter := lines{emit: s.line}
	buffer := make([]byte, readSize)
	told := false
	pass := func() {
		s.write()
		if s.err != nil && !told {
			told = true
			failed(s.err)
		}
	}
	for in := untilDeadline(s.in); ; {
		n, err := in.Read(buffer)
		s.keep(buffer[:n])
		cutter.write(buffer[:n])
		if err != nil {
			break
		}
		pass()
	}
	cutter.flush()
	pass()
}

// keep takes bytes as they come.
func (s *stream) keep(p []byte) {
	if s.to.File != nil && s.err == nil && len(p) > 0 {
		if _, err := s.to.File.Write(p); err != nil {
			s.err = fmt.Errorf("keeping the workers' output: %w", err)
		}
	}
	if s.raw && !s.to.Hidden {
		s.ready = append(s.ready, p...)
	}
}

// write passes on what is ready, in one piece.
func (s *stream) write() {
	if len(s.ready) > 0 && s.err == nil {
		s.turn.Lock()
		_, err := s.out.Write(s.ready)
		s.turn.Unlock()
		if err != nil {
			s.err = fmt.Errorf("writing the workers' output: %w", err)
			s.ready = nil // an Outlet may still have it
		}
	}
	s.ready = s.ready[:0]
}

// line takes one line of the worker.
func (s *stream) line(line []byte) {
	if loneReturn(line) {
		return
	}
	if s.tail != nil {
		s.tail.add(line)
	}
	if s.to.Line != nil && s.err == nil {
		if err := s.to.Line(line); err != nil {
			s.err = fmt.Errorf("copying lines of the workers' output: %w", err)
		}
	}
	if s.raw || s.to.Hidden {
		return
	}
	s.ready = append(s.ready, s.prefix...)
	s.ready = append(s.ready, line...)
	if last := line[len(line)-1]; last != '\n' && last != '\r' {
		s.ready = append(s.ready, '\n')
	}
	if len(s.ready) >= readSize { // prefixes of short lines are longer than these
		s.write()
	}
}

// sameFile reports whether two outputs are the same terminal, pipe or file.
func sameFile(a, b io.Writer) bool {
	type file interface{ Stat() (fs.FileInfo, error) } // as an *os.File and an *Outlet have
	fileA, okA := a.(file)
	fileB, okB := b.(file)
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
