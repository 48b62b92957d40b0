package session

import (
	"fmt"
	"io"
	"sync"
	"time"

	"golang.org/x/term"
)

// Progress shows on a terminal's last line how far a long run has come. It is
// safe for concurrent use. It is no bar of a library: these own the terminal, and gpurun
// writes results and the workers' output to the same one; see Beside.
type Progress struct {
	mu    sync.Mutex
	out   io.Writer // nil: no terminal, and nothing is shown
	width int
	due   time.Time // when to show the next line
	shown bool
}

// A run shows progress when it takes longer than progressDelay, and then a new
// line every progressInterval at most.
const (
	progressDelay    = time.Second
	progressInterval = 50 * time.Millisecond
)

// NewProgress shows progress on w if that is a terminal.
func NewProgress(w io.Writer) *Progress {
	p := &Progress{due: time.Now().Add(progressDelay)}
	file, ok := w.(interface{ Fd() uintptr })
	if !ok || !term.IsTerminal(int(file.Fd())) {
		return p
	}
	p.out, p.width = w, 80
	if width, _, err := term.GetSize(int(file.Fd())); err == nil && width > 0 {
		p.width = width
	}
	return p
}

// show replaces the line.
func (p *Progress) show(done, total int, doing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.out == nil || now.Before(p.due) {
		return
	}
	p.due = now.Add(progressInterval)
	line := []rune(fmt.Sprintf("gpurun: %d of %d: %s", done, total, doing))
	if len(line) >= p.width {
		line = line[:p.width-1]
	}
	fmt.Fprintf(p.out, "\r%s\x1b[K", string(line))
	p.shown = true
}

// Clear removes the line until the next show.
func (p *Progress) Clear() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.erase()
}

func (p *Progress) erase() {
	if p.shown {
		io.WriteString(p.out, "\r\x1b[K")
		p.shown = false
	}
}

// Beside returns a writer to w that removes the line first: w may well be the
// same terminal.
func (p *Progress) Beside(w io.Writer) io.Writer { return besideProgress{p, w} }

type besideProgress struct {
	p *Progress
	w io.Writer
}

func (b besideProgress) Write(data []byte) (int, error) {
	b.p.mu.Lock()
	defer b.p.mu.Unlock()
	b.p.erase()
	return b.w.Write(data)
}
