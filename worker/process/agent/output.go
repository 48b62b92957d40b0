package agent

import (
	"fmt"
	"io"
	"os"
)

// Output is where one stream of a worker goes. The zero value is the agent's own
// stream.
type Output struct {
	// File, when set, gets every byte as it comes. The agent closes it.
	File *os.File
	// Hidden keeps the stream from Spec.Stdout or Spec.Stderr.
	Hidden bool
	// Line, when set, is called with every line and its end, if it has one. An
	// error ends the run. The bytes are valid during the call only.
	Line func(line []byte) error
}

// direct reports whether the worker can write to the file itself: nobody else
// wants to see what it writes.
func (o Output) direct() bool { return o.File != nil && o.Hidden && o.Line == nil }

// outputs asks the Spec where a worker's streams go.
func (s *Spec) outputs(localRank int) (stdout, stderr Output, err error) {
	if s.Output == nil {
		return Output{}, Output{}, nil
	}
	if stdout, stderr, err = s.Output(localRank); err != nil {
		err = fmt.Errorf("opening files for its output: %w", err)
	}
	return stdout, stderr, err
}

// lastBytes is how much of a file is read for its last lines.
const lastBytes = tailLines * tailWidth

// lastLines reads the last lines of a file that a worker wrote.
func lastLines(path string) []string {
	file, err := os.Open(path)
	if err != nil {
		return nil // the user has moved it, and can read it
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
	var kept tail
	first := begin > 0 // then the first line has lost its beginning
	cutter := lines{emit: func(line []byte) {
		if !first && !loneReturn(line) {
			kept.add(line)
		}
		first = false
	}}
	cutter.write(text)
	cutter.flush()
	return kept.last()
}

// loneReturn reports whether a line is nothing but "\r": progress bars begin with it.
func loneReturn(line []byte) bool { return len(line) == 1 && line[0] == '\r' }
