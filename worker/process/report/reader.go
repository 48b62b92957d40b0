package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// LineError is a line that is not a message.
type LineError struct {
	Rank int    // that wrote it
	Line string // its beginning
	Err  error
}

// Error names the rank, the reason and the beginning of the line.
func (e *LineError) Error() string {
	return fmt.Sprintf("rank %d sent a report that cannot be read: %v: %q", e.Rank, e.Err, e.Line)
}

// Unwrap returns the reason.
func (e *LineError) Unwrap() error { return e.Err }

// ErrTooLong is the reason for refusing a line longer than MaxLine.
var ErrTooLong = fmt.Errorf("longer than %d bytes", MaxLine)

// Reader is the agent's end of one worker's pipe. It never holds more than
// MaxLine bytes, whatever the worker writes.
type Reader struct {
	rank int
	in   *bufio.Reader
}

// NewReader reads what rank writes. The caller closes in.
func NewReader(in io.Reader, rank int) *Reader {
	return &Reader{rank: rank, in: bufio.NewReader(in)}
}

// Next returns the next message. After a *LineError, the next call continues with the
// next line. Next returns io.EOF at the end, io.ErrUnexpectedEOF when the worker
// died in the middle of a line, and otherwise the error of the pipe.
func (r *Reader) Next() (Message, error) {
	line, err := r.line()
	if errors.Is(err, ErrTooLong) {
		return Message{}, r.refuse(line, err)
	}
	if err != nil {
		return Message{}, err
	}
	m, err := parse(line)
	if err != nil {
		return Message{}, r.refuse(line, err)
	}
	return m, nil
}

func (r *Reader) refuse(line []byte, err error) error {
	const shown = 80
	return &LineError{Rank: r.rank, Line: string(line[:min(len(line), shown)]), Err: err}
}

// line returns one line with its newline. Of a line that is too long it
// returns the beginning with ErrTooLong, and skips the rest.
func (r *Reader) line() ([]byte, error) {
	var line []byte
	tooLong := false
	for {
		part, err := r.in.ReadSlice('\n')
		if len(line)+len(part) > MaxLine {
			tooLong = true
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && (len(line) > 0 || tooLong):
			return line, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		case tooLong:
			return line, ErrTooLong
		}
		return line, nil
	}
}

func parse(line []byte) (Message, error) {
	var m Message
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&m); err != nil {
		return Message{}, err
	}
	if rest := line[decoder.InputOffset():]; len(bytes.TrimSpace(rest)) > 0 {
		return Message{}, errors.New("more than one value in a line")
	}
	return m, m.check()
}
