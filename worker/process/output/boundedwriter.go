package output

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// writeTimeout is how long a process that was asked to end waits for a reader that has
// stalled, such as a pager, or a terminal after Ctrl-S.
const writeTimeout = 2 * time.Second

// errNotRead is why output is lost.
var errNotRead = errors.New("the reader does not read")

// standardError is the descriptor.
const standardError = 2

// BoundedWriter writes one of this process's standard streams. Until the process is
// asked to end, a write waits for the stream's reader without a bound. From then on a
// write fails after two seconds, and all later writes fail at once.
type BoundedWriter struct {
	file *os.File
	ctx  context.Context

	mu       sync.Mutex
	timedOut bool
	sigpipe  bool // see WithSIGPIPE
}

// NewBoundedWriter makes the writer of a file. The end of ctx asks the process to end.
func NewBoundedWriter(ctx context.Context, file *os.File) *BoundedWriter {
	return &BoundedWriter{file: file, ctx: ctx}
}

// WithSIGPIPE has SIGPIPE end the process when the stream's reader is gone. The Go runtime does so for
// descriptors 1 and 2 alone, and this stream may have another one.
func (w *BoundedWriter) WithSIGPIPE() *BoundedWriter {
	w.sigpipe = true
	return w
}

// write writes to the file.
func (w *BoundedWriter) write(p []byte) (int, error) {
	n, err := w.file.Write(p)
	if w.sigpipe && errors.Is(err, syscall.EPIPE) && unix.Dup3(int(w.file.Fd()), standardError, 0) == nil {
		_, _ = os.Stderr.Write(p) // ends the process
	}
	return n, err
}

// Write writes to the file. After a write has timed out, a goroutine may still read p
// and write it to the file: the caller must not change p.
func (w *BoundedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.timedOut {
		return 0, w.lost()
	}
	type outcome struct {
		n   int
		err error
	}
	written := make(chan outcome, 1)
	go func() {
		n, err := w.write(p)
		written <- outcome{n, err}
	}()
	select {
	case o := <-written:
		return o.n, o.err
	case <-w.ctx.Done():
	}
	select {
	case o := <-written:
		return o.n, o.err
	case <-time.After(writeTimeout):
		w.timedOut = true
		return 0, w.lost()
	}
}

// lost is why output is lost. It wraps the cause of the context's end, which decides
// about the exit code.
func (w *BoundedWriter) lost() error { return fmt.Errorf("%w: %w", errNotRead, context.Cause(w.ctx)) }

// Fd is the file's descriptor.
func (w *BoundedWriter) Fd() uintptr { return w.file.Fd() }

// Stat describes the file.
func (w *BoundedWriter) Stat() (fs.FileInfo, error) { return w.file.Stat() }
