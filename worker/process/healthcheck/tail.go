package healthcheck

import (
	"bytes"
	"fmt"
	"io"
	"sync"
)

// maxOutput is how much of a check's output is kept, in bytes.
const maxOutput = 16 << 10

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
	cut  bool
}

// Write never fails.
func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, p...)
	if over := len(t.kept) - maxOutput; over > 0 {
		t.kept, t.cut = append(t.kept[:0], t.kept[over:]...), true
	}
	return len(p), nil
}

// failure is a Failure with the output as far as it came.
func (t *tail) failure(name, reason string) *Failure {
	t.mu.Lock()
	defer t.mu.Unlock()
	kept := t.kept
	if _, whole, found := bytes.Cut(kept, []byte("\n")); found && t.cut { // the first line is a part of one
		kept = whole
	}
	return &Failure{Name: name, Reason: reason, Output: bytes.Clone(kept)}
}

// Show prints the output under a heading, indented; nothing if there is none.
func (f *Failure) Show(w io.Writer) {
	text := bytes.TrimRight(f.Output, "\n")
	if len(text) == 0 {
		return
	}
	fmt.Fprintf(w, "gpurun: the last output of the health check %q:\n  %s\n", f.Name,
		bytes.ReplaceAll(text, []byte("\n"), []byte("\n  ")))
}
