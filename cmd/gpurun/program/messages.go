package program

import (
	"io"
	"strings"
	"sync/atomic"
)

// Messages is standard error. Messages begin with "gpurun: ", each in one write. When the log is for programs, they
// become entries of it.
type Messages struct {
	w    io.Writer
	json atomic.Bool
}

// NewMessages writes to w as it is told, until SetLogFormat.
func NewMessages(w io.Writer) *Messages { return &Messages{w: w} }

// SetLogFormat takes the form of the log: console or json.
func (m *Messages) SetLogFormat(format string) { m.json.Store(format == "json") }

const messagePrefix = "gpurun: "

// Write implements io.Writer.
func (m *Messages) Write(p []byte) (int, error) {
	text, ok := strings.CutPrefix(string(p), messagePrefix)
	if !ok || !m.json.Load() {
		return m.w.Write(p)
	}
	log, err := NewLogger("warn", "json", m.w)
	if err != nil {
		return 0, err
	}
	log.Warn(strings.TrimRight(text, "\n"))
	return len(p), nil
}

// UseLogFormat writes messages in the form of the log from now on.
func (a *Invocation) UseLogFormat(format string) {
	if m, ok := a.Err.(*Messages); ok {
		m.SetLogFormat(format)
	}
}
