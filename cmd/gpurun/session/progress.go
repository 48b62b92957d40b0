package session

import (
	"fmt"
	"io"
	"sync"
	"time"

	"gpurun/cmd/gpurun/terminal"
	"gpurun/worker/result/printable"
)

// Progress shows on a terminal's last line how far a long run has come. It is
// safe for concurrent use. It is no bar of a library: these own the terminal, and gpurun
// writes results and the workers' output to the same one; see Beside.
type Progress struct {
	mu    sync.Mutex
	out   io.Writer // nil: no terminal, and nothing is shown
	width int
	begun time.Time // of this run
	done  int       // of it, the last time
	// The calls of earlier runs, of this run, and of all runs that belong together; all is 0 for a run alone.
	before, own, all int
	due              time.Time // when to show the next line
	shown            bool
}

// A run shows progress when it takes longer than progressDelay, and then a new
// line every progressInterval at most.
const (
	progressDelay    = time.Second
	progressInterval = 50 * time.Millisecond
)

// NewProgress shows progress on w if that is a terminal.
func NewProgress(w io.Writer) *Progress {
	p := &Progress{begun: time.Now(), due: time.Now().Add(progressDelay)}
	if terminal.Is(w) {
		p.out, p.width = w, terminal.Width(w)
	}
	return p
}

// Within says that the next run is one of several that belong together: before is the number of calls of those that
// have ended, own that of the next, all that of all. The calls of all are then shown in place of the run's cases, of
// which a call may have two.
func (p *Progress) Within(before, own, all int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before, p.own, p.all = before, own, all
}

// show replaces the line.
func (p *Progress) show(done, total int, doing string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.all > 0 {
		done, total = p.before+done*p.own/max(total, 1), p.all
	}
	now := time.Now()
	if done < p.done { // the next of several runs
		p.begun = now
	}
	p.done = done
	if p.out == nil || now.Before(p.due) {
		return
	}
	p.due = now.Add(progressInterval)
	count := ""
	if total > 0 { // else the run is still being planned
		count = fmt.Sprintf("%d of %d%s: ", done, total, pace(done, total, now.Sub(p.begun)))
	}
	line := []rune("gpurun: " + count + printable.Text(doing))
	if len(line) >= p.width {
		line = line[:p.width-1]
	}
	fmt.Fprintf(p.out, "\r%s\x1b[K", string(line))
	p.shown = true
}

// pace is how fast it goes and how long it still takes, at the rate so far; or empty, where too little is done to tell.
func pace(done, total int, took time.Duration) string {
	if done == 0 || done >= total || took < progressDelay {
		return ""
	}
	rate := float64(done) / took.Seconds()
	left := time.Duration(float64(total-done) / rate * float64(time.Second))
	return fmt.Sprintf(", %.3g a second, %v left", rate, left.Round(time.Second))
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
