package check

import (
	"fmt"
	"io"
	"time"

	"gpurun/cmd/gpurun/suggest"
	"gpurun/cmd/gpurun/terminal"
	engine "gpurun/cudart/sim/check"
	"gpurun/worker/result/printable"
)

// progress says how far the check is: on a terminal in its last line, and elsewhere by a line every ten seconds.
type progress struct {
	out      io.Writer
	terminal bool
	width    int
	begun    time.Time
	due      time.Time
	shown    bool
	total    int // schedules
	done     int // of the cases before
}

const (
	terminalInterval = 100 * time.Millisecond
	lineInterval     = 10 * time.Second
)

func newProgress(w io.Writer, total int) *progress {
	p := &progress{out: w, total: total, terminal: terminal.Is(w), width: terminal.Width(w), begun: time.Now()}
	p.due = p.begun.Add(p.interval())
	return p
}

func (p *progress) interval() time.Duration {
	if p.terminal {
		return terminalInterval
	}
	return lineInterval
}

// of shows the coverage of a case.
func (p *progress) of(number int, m *merge) func(engine.Coverage) {
	name := m.result.Cases[number].Name()
	return func(cover engine.Coverage) {
		now := time.Now()
		if now.Before(p.due) {
			return
		}
		p.due = now.Add(p.interval())
		p.show(p.line(name, cover, len(m.found), now))
	}
}

// line is the text of one moment. What matters most comes first: a terminal may have no room for the end.
func (p *progress) line(name string, c engine.Coverage, findings int, now time.Time) string {
	done := p.done + c.Schedules
	text := fmt.Sprintf("gpurun: %d of %d schedules", done, p.total)
	if done > 0 && done < p.total {
		left := now.Sub(p.begun) * time.Duration(p.total-done) / time.Duration(done)
		text += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	if findings > 0 {
		text += fmt.Sprintf(", %d found", findings)
	}
	text += ", " + suggest.Count(c.Behaviors, "behavior", "behaviors")
	if c.Pairs > 0 {
		text += fmt.Sprintf(", %d of %d pairs in both orders", c.BothOrders, c.Pairs)
	}
	return text + ": " + name
}

func (p *progress) show(line string) {
	line = printable.Text(line)
	if !p.terminal {
		fmt.Fprintln(p.out, line)
		return
	}
	if text := []rune(line); len(text) >= p.width {
		line = string(text[:p.width-1])
	}
	fmt.Fprintf(p.out, "\r%s\x1b[K", line)
	p.shown = true
}

// clear removes the line of the terminal.
func (p *progress) clear() {
	if p.shown {
		io.WriteString(p.out, "\r\x1b[K")
		p.shown = false
	}
}
