package output

import "os"

// Destination is where one stream of a worker goes. The zero value is the agent's own
// stream.
type Destination struct {
	// File, when set, gets every byte as it comes. The agent closes it.
	File *os.File
	// Hidden keeps the stream from the agent's own.
	Hidden bool
	// Pass, when set, is called with every line, and reports whether the line goes to Line, to the agent's own stream
	// and to the last lines. The bytes are valid during the call only.
	Pass func(line []byte) bool
	// Line, when set, is called with every line and its end, if it has one. An
	// error ends the run. The bytes are valid during the call only.
	Line func(line []byte) error
}

// Direct reports whether the worker can write to File itself, because nothing else gets
// the stream.
func (d Destination) Direct() bool {
	return d.File != nil && d.Hidden && d.Line == nil && d.Pass == nil
}
