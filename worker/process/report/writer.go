package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// ErrNoAgent is returned by Open in a process that no agent started.
var ErrNoAgent = errors.New(FDVariable +
	" is not set: this process was not started by a gpurun agent that wants reports")

// Writer is the worker's end of the pipe. It is safe for concurrent use; every
// message is written whole.
type Writer struct {
	mu  sync.Mutex
	out io.WriteCloser
}

// Open opens the pipe that the agent passed on. It removes the variable from
// the environment and makes the descriptor close-on-exec, so that this process's own
// children cannot report.
func Open() (*Writer, error) {
	text, ok := os.LookupEnv(FDVariable)
	if !ok {
		return nil, ErrNoAgent
	}
	fd, err := strconv.Atoi(text)
	if err != nil || fd <= 2 {
		return nil, fmt.Errorf("%s=%q is not a descriptor above 2", FDVariable, text)
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return nil, fmt.Errorf("looking at descriptor %d of %s: %w", fd, FDVariable, err)
	}
	if stat.Mode&unix.S_IFMT != unix.S_IFIFO {
		return nil, fmt.Errorf("descriptor %d of %s is not a pipe", fd, FDVariable)
	}
	unix.CloseOnExec(fd)
	if err := os.Unsetenv(FDVariable); err != nil {
		return nil, fmt.Errorf("removing %s from the environment: %w", FDVariable, err)
	}
	return NewWriter(os.NewFile(uintptr(fd), "report pipe")), nil
}

// NewWriter writes messages to out, which the Writer owns from now on.
func NewWriter(out io.WriteCloser) *Writer {
	return &Writer{out: out}
}

// Phase names the step that the worker begins, such as "mapping peers". The name
// completes the sentence "rank 3 failed while ...".
func (w *Writer) Phase(phase string) error {
	return w.Send(Message{Kind: KindPhase, Phase: phase})
}

// Progress says how much of the current phase is done.
func (w *Writer) Progress(done, total int) error {
	return w.Send(Message{Kind: KindProgress, Progress: &Progress{Done: done, Total: total}})
}

// Result sends a result, encoded as JSON. The agent does not look into it.
func (w *Writer) Result(result any) error {
	data, err := json.Marshal(result)
	if err != nil {
		return fmt.Errorf("encoding a result: %w", err)
	}
	return w.Send(Message{Kind: KindResult, Result: data})
}

// Fail says why the worker is about to exit with an error.
func (w *Writer) Fail(f Failure) error {
	return w.Send(Message{Kind: KindFailure, Failure: &f})
}

// Send writes one message. It blocks while the pipe is full, until the agent has read
// from it.
func (w *Writer) Send(m Message) error {
	if err := m.check(); err != nil {
		return fmt.Errorf("refusing to send a report: %w", err)
	}
	line, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encoding a report: %w", err)
	}
	line = append(line, '\n')
	if len(line) > MaxLine {
		return fmt.Errorf("a report of %d bytes is longer than the limit of %d", len(line), MaxLine)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, err := w.out.Write(line); err != nil {
		return fmt.Errorf("reporting to the agent: %w", err)
	}
	return nil
}

// Close closes the pipe.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.out.Close()
}
