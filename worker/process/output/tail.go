package output

import (
	"io"
	"os"
	"slices"
	"strings"
	"sync"
)

const (
	tailLines = 20
	tailWidth = 1000 // bytes kept of a line
)

// Tail keeps the last 20 lines of a stream. A line that ended with "\r" alone is
// replaced by the next, as on a terminal.
type Tail struct {
	mu       sync.Mutex
	kept     []string
	progress bool // the last line ended with "\r" alone
}

func (t *Tail) add(line []byte) {
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

// Lines returns the lines that are kept, without their ends.
func (t *Tail) Lines() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.kept)
}

// lastBytes is how much of a file is read for its last lines.
const lastBytes = tailLines * tailWidth

// LastLines returns the lines that a Tail of a whole file keeps, or nil where the file
// cannot be read: then the user has moved it, and can read it.
func LastLines(path string) []string {
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil
	}
	begin := max(info.Size()-lastBytes, 0)
	text, err := io.ReadAll(io.NewSectionReader(file, begin, lastBytes))
	if err != nil {
		return nil
	}
	var kept Tail
	partial := begin > 0 // the first line lacks its beginning
	cutter := lines{emit: func(line []byte) {
		if !partial && !loneReturn(line) {
			kept.add(line)
		}
		partial = false
	}}
	cutter.write(text)
	cutter.flush()
	return kept.Lines()
}
