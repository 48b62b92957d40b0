package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"
)

// stallBound is how long somebody who was asked to end waits for a reader that has stalled,
// such as a pager, or a terminal after Ctrl-S.
const stallBound = 2 * time.Second

// errStalled is why output is lost.
var errStalled = errors.New("nobody reads it")

// Outlet is one of this process's standard streams. Whoever reads it may stall for as long as nobody asks
// the process to end. After that a write gives up, and all that follow it.
type Outlet struct {
	file *os.File
	ctx  context.Context

	mu      sync.Mutex
	stalled bool
}

// NewOutlet makes an outlet of a file. The end of ctx asks the process to end.
func NewOutlet(ctx context.Context, file *os.File) *Outlet {
	return &Outlet{file: file, ctx: ctx}
}

// Write writes to the file. A write that has given up may still have p, and the file: what it writes
// is not worth more than the end.
func (o *Outlet) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.stalled {
		return 0, o.lost()
	}
	type outcome struct {
		n   int
		err error
	}
	written := make(chan outcome, 1)
	go func() {
		n, err := o.file.Write(p)
		written <- outcome{n, err}
	}()
	select {
	case w := <-written:
		return w.n, w.err
	case <-o.ctx.Done():
	}
	select {
	case w := <-written:
		return w.n, w.err
	case <-time.After(stallBound):
		o.stalled = true
		return 0, o.lost()
	}
}

// lost says why output is, and who asked for the end, which decides about the exit code.
func (o *Outlet) lost() error { return fmt.Errorf("%w: %w", errStalled, context.Cause(o.ctx)) }

// Fd is the file's descriptor.
func (o *Outlet) Fd() uintptr { return o.file.Fd() }

// Stat describes the file.
func (o *Outlet) Stat() (fs.FileInfo, error) { return o.file.Stat() }
