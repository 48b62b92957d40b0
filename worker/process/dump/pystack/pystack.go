// Package pystack reads the stacks of Python's threads: what the module faulthandler writes, and what py-spy does.
package pystack

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"gpurun/worker/process/dump"
)

// A dump that CPython writes has at most 100 threads of 100 frames, and names of 500 characters.
const (
	mostThreads = 1024
	mostFrames  = 256
	lineBytes   = 8 << 10
)

// Stacks is one dump of faulthandler.
type Stacks struct {
	Fatal   string        // why Python ended: the text behind "Fatal Python error: "; empty for a dump on request
	Threads []dump.Thread // the main thread first; TID is 0, because faulthandler prints the pthread_t
}

// Read reads the last dump of a file to which faulthandler has written, with other output around it or not. A dump
// whose end is missing counts with what is there of it.
//
// CPython lists its threads from the newest to the oldest, so the last one is the main thread. It lists 100 at most.
// Where the list was cut, the current thread stands for the main one, because signals mostly reach that; without a
// current thread the first of the result is an empty one.
func Read(r io.Reader) (Stacks, error) {
	var p parser
	lines := bufio.NewReaderSize(r, lineBytes)
	for {
		line, err := lines.ReadSlice('\n')
		switch {
		case err == nil:
			p.line(string(bytes.TrimRight(line, "\r\n")))
		case errors.Is(err, bufio.ErrBufferFull):
			err = skipLine(lines) // longer than any line of faulthandler
		}
		if errors.Is(err, io.EOF) {
			return p.stacks(), nil // half a line would give half a name
		}
		if err != nil {
			return Stacks{}, fmt.Errorf("reading a dump of faulthandler: %w", err)
		}
	}
}

func skipLine(lines *bufio.Reader) error {
	for {
		if _, err := lines.ReadSlice('\n'); !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// parser holds the dump that it is in.
type parser struct {
	fatal    string
	threads  []dump.Thread
	idents   map[string]bool // of threads, which come once in a dump
	current  int             // the index of the current thread, -1: none
	cut      bool            // the list of threads was
	inThread bool            // frames belong to the last of threads
	blank    bool            // the line before was
	other    bool            // there was a line that is not of faulthandler's dump of threads
}

func (p *parser) line(line string) {
	blank := line == ""
	defer func() { p.blank = blank }()
	if reason, ok := strings.CutPrefix(line, "Fatal Python error: "); ok {
		p.begin()
		p.fatal = reason
		return
	}
	if ident, name, current, ok := parseHead(line); ok {
		p.head(ident, name, current)
		return
	}
	switch {
	case blank:
		p.inThread = false
	case line == "...":
		p.cut = true
	case p.inThread && strings.HasPrefix(line, "  "):
		last := &p.threads[len(p.threads)-1]
		if frame, ok := parseFrame(line); ok && len(last.Python) < mostFrames {
			last.Python = append(last.Python, frame)
		}
	default:
		p.other = true
	}
}

// head begins a thread, and a dump if the thread cannot be of the last one: between the threads of one dump there is a
// blank line and nothing else.
func (p *parser) head(ident, name string, current bool) {
	if len(p.threads) > 0 && (!p.blank || p.other || p.idents[ident]) {
		p.begin()
	}
	if p.idents == nil {
		p.idents, p.current = map[string]bool{}, -1
	}
	if p.inThread = len(p.threads) < mostThreads; !p.inThread {
		p.cut = true
		return
	}
	if current {
		p.current = len(p.threads)
	}
	p.idents[ident] = true
	p.threads = append(p.threads, dump.Thread{Name: name})
}

func (p *parser) begin() { *p = parser{} }

// stacks puts the main thread first.
func (p *parser) stacks() Stacks {
	s := Stacks{Fatal: p.fatal}
	if len(p.threads) == 0 {
		return s
	}
	main := len(p.threads) - 1
	if p.cut {
		main = p.current
	}
	if main < 0 {
		s.Threads = []dump.Thread{{}}
	} else {
		s.Threads = p.threads[main : main+1 : main+1]
	}
	for i := len(p.threads) - 1; i >= 0; i-- {
		if i != main {
			s.Threads = append(s.Threads, p.threads[i])
		}
	}
	return s
}

// parseHead parses "Thread 0x1234 (most recent call first):", as 3.14 writes it with the thread's name in brackets, for
// the current thread with the word "Current", and "Stack (most recent call first):" where no thread is known.
func parseHead(line string) (ident, name string, current, ok bool) {
	rest, ok := strings.CutSuffix(line, " (most recent call first):")
	if !ok {
		return "", "", false, false
	}
	if rest == "Stack" {
		return "", "", true, true
	}
	if rest, ok = strings.CutPrefix(rest, "Current thread "); ok {
		current = true
	} else if rest, ok = strings.CutPrefix(rest, "Thread "); !ok {
		return "", "", false, false // "Current thread's C stack trace"
	}
	ident, name, named := strings.Cut(rest, " [")
	if named {
		name, named = strings.CutSuffix(name, "]")
	}
	ok = strings.HasPrefix(ident, "0x") && !strings.Contains(ident, " ") && (named || name == "")
	return ident, name, current, ok
}

// parseFrame parses `  File "train.py", line 12 in main`. What faulthandler does not know is ??? there, without quotes.
func parseFrame(line string) (dump.Frame, bool) {
	rest, ok := strings.CutPrefix(line, "  File ")
	if !ok {
		return dump.Frame{}, false
	}
	cut := strings.LastIndex(rest, ", line ")
	if cut < 0 {
		return dump.Frame{}, false
	}
	file := rest[:cut]
	if len(file) >= 2 && file[0] == '"' && file[len(file)-1] == '"' {
		file = file[1 : len(file)-1]
	}
	number, function, ok := strings.Cut(rest[cut+len(", line "):], " in ")
	n, err := strconv.ParseUint(number, 10, 31)
	if !ok || (err != nil && number != "???") {
		return dump.Frame{}, false
	}
	return dump.Frame{Function: function, File: file, Line: int(n)}, true
}
