// Package output passes the workers' standard output and error on: in whole lines, to
// the agent's own streams, to files, and to whatever else a [Destination] names.
package output

import (
	"fmt"
	"os"
	"sync/atomic"
	"time"
)

// Stream passes one stream of a worker on.
type Stream struct {
	Pipe        *os.File // the end that Copy reads
	Destination Destination
	Console     *Console
	Prefix      string // of every line on the console
	Raw         bool   // the console gets bytes as they come, without prefixes
	Tail        *Tail  // keeps the last lines; nil for none

	written atomic.Int64 // when Copy last read something, in nanoseconds since 1970; 0: never

	ready []byte // for the next write to the console
	err   error  // the first failure, after which nothing is passed on
}

// readSize is how much is read at once: what a pipe holds.
const readSize = 64 << 10

// Copy passes everything on until the worker and all that inherited the pipe
// have closed it, or the read deadline has passed. When that fails, Copy calls
// failed, once, and goes on reading, so that the worker does not block. It closes the
// destination's file.
func (s *Stream) Copy(failed func(error)) {
	if s.Destination.File != nil {
		defer s.Destination.File.Close()
	}
	cutter := lines{emit: s.line}
	buffer := make([]byte, readSize)
	reported := false
	pass := func() {
		s.write()
		if s.err != nil && !reported {
			reported = true
			failed(s.err)
		}
	}
	for in := UntilDeadline(s.Pipe); ; {
		n, err := in.Read(buffer)
		if n > 0 {
			s.written.Store(time.Now().UnixNano())
		}
		s.bytes(buffer[:n])
		cutter.write(buffer[:n])
		if err != nil {
			break
		}
		pass()
	}
	cutter.flush()
	pass()
}

// LastWrite is when the worker last wrote; zero if it never did. Of a file that the worker writes to itself the file's
// time counts.
func (s *Stream) LastWrite() time.Time {
	if s.Destination.Direct() {
		if info, err := os.Stat(s.Destination.File.Name()); err == nil && info.Size() > 0 {
			return info.ModTime()
		}
		return time.Time{}
	}
	if at := s.written.Load(); at != 0 {
		return time.Unix(0, at)
	}
	return time.Time{}
}

// bytes takes the worker's bytes as they come.
func (s *Stream) bytes(p []byte) {
	if s.Destination.File != nil && s.err == nil && len(p) > 0 {
		if _, err := s.Destination.File.Write(p); err != nil {
			s.err = fmt.Errorf("keeping the workers' output: %w", err)
		}
	}
	if s.Raw && !s.Destination.Hidden {
		s.ready = append(s.ready, p...)
	}
}

// write passes what is ready on to the console, in one piece.
func (s *Stream) write() {
	if len(s.ready) > 0 && s.err == nil {
		if err := s.Console.write(s.ready); err != nil {
			s.err = fmt.Errorf("writing the workers' output: %w", err)
			s.ready = nil // a BoundedWriter that timed out may still read the array
		}
	}
	s.ready = s.ready[:0]
}

// line takes one line of the worker.
func (s *Stream) line(line []byte) {
	if loneReturn(line) {
		return
	}
	if s.Destination.Pass != nil && !s.Destination.Pass(line) {
		return
	}
	if s.Tail != nil {
		s.Tail.add(line)
	}
	if s.Destination.Line != nil && s.err == nil {
		if err := s.Destination.Line(line); err != nil {
			s.err = fmt.Errorf("copying lines of the workers' output: %w", err)
		}
	}
	if s.Raw || s.Destination.Hidden {
		return
	}
	s.ready = append(s.ready, s.Prefix...)
	s.ready = append(s.ready, line...)
	if last := line[len(line)-1]; last != '\n' && last != '\r' {
		s.ready = append(s.ready, '\n')
	}
	if len(s.ready) >= readSize { // the prefixes of many short lines are longer than the lines
		s.write()
	}
}
