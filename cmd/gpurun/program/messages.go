package program

import (
	"io"
	"strings"
	"sync/atomic"

	"gpurun/worker/result/printable"
)

// Messages is standard error. Messages begin with "gpurun: ", each in one write. Control characters in them become
// escapes. When the log is for programs, messages become entries of it. All else passes unchanged.
type Messages struct {
	w    io.Writer
	json atomic.Bool
}

// NewMessages writes to w as it is told, until SetLogFormat.
func NewMessages(w io.Writer) *Messages { return &Messages{w: w} }

// SetLogFormat takes the form of the log: console or json.
func (m *Messages) SetLogFormat(format string) { m.json.Store(format == "json") }

// Fd is the file of the stream, by which a terminal is known; of a stream without one it is no file at all.
func (m *Messages) Fd() uintptr {
	if file, ok := m.w.(interface{ Fd() uintptr }); ok {
		return file.Fd()
	}
	return ^uintptr(0)
}

const messagePrefix = "gpurun: "

// Write implements io.Writer.
func (m *Messages) Write(p []byte) (int, error) {
	text, ok := strings.CutPrefix(string(p), messagePrefix)
	if !ok {
		return m.w.Write(p)
	}
	if !m.json.Load() {
		if _, err := io.WriteString(m.w, printable.Text(string(p))); err != nil {
			return 0, err
		}
		return len(p), nil
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
