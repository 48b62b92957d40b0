package agent

import (
	"slices"
	"strings"
	"sync"
)

const (
	tailLines = 20
	tailWidth = 1000 // bytes kept of a line
)

// tail keeps the last lines of a stream. A line that ended with "\r" alone is
// replaced by the next, as on a terminal.
type tail struct {
	mu       sync.Mutex
	kept     []string
	progress bool // the last line ended with "\r" alone
}

func (t *tail) add(line []byte) {
	text := content(line)
	if len(text) > tailWidth {
		text = text[:cutLength(text[:tailWidth])]
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.progress && len(t.kept) > 0 {
		t.kept = t.kept[:len(t.kept)-1]
	}
	if len(t.kept) == tailLines {
		t.kept = slices.Delete(t.kept, 0, 1)
	}
	t.kept = append(t.kept, strings.ToValidUTF8(string(text), "\uFFFD"))
	t.progress = line[len(line)-1] == '\r'
}

func (t *tail) last() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.kept)
}
