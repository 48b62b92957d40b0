// Package crash explains how a process of gpurun's own crashed, in place of the stacks that the Go
// runtime prints, and finds limits under which it would crash.
package crash

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
)

// Filter tells the lines of a process's standard error from the crash that the Go runtime prints at the end, and keeps
// the crash.
type Filter struct {
	mu   sync.Mutex
	text bytes.Buffer // from the first line of the crash on
}

// mostText bounds what is kept of a crash: the stacks of more than 1,000 goroutines.
const mostText = 4 << 20

// Pass reports whether a line is none of a crash. The bytes are not used after the call.
func (f *Filter) Pass(line []byte) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.text.Len() == 0 && !begins(string(line)) {
		return true
	}
	if f.text.Len() < mostText {
		f.text.Write(line)
	}
	return false
}

// begins reports whether the Go runtime begins a crash by a line.
func begins(line string) bool {
	for _, first := range []string{
		"fatal error: ", "panic: ", "runtime: ", "runtime/cgo: ", "unexpected fault address ", "[signal ",
	} {
		if strings.HasPrefix(line, first) {
			return true
		}
	}
	name, what, found := strings.Cut(line, ": ") // "SIGSEGV: segmentation violation"
	return found && strings.HasPrefix(name, "SIG") && strings.ToUpper(name) == name && what != ""
}

// Error is a crash of a process of gpurun's own. It is an error of the machine, as far as limits explain it.
type Error struct {
	What string // who crashed and why, in words for the user
	File string // with the stacks; empty if it could not be written
}

func (e *Error) Error() string {
	if e.File == "" {
		return e.What
	}
	return e.What + "; its Go stacks are in " + e.File
}

// Crash returns the crash of the process that is named so, as "the agent (pid 7)", or nil if it did not crash. It
// writes the stacks to a temporary file, which is the user's.
func (f *Filter) Crash(process string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.text.Len() == 0 {
		return nil
	}
	return &Error{What: fmt.Sprintf("%s crashed: %s", process, explain(f.text.String(), Limits())), File: f.save()}
}

// save writes the text to a file that no other process of gpurun removes.
func (f *Filter) save() string {
	file, err := os.CreateTemp("", "gpurun-crash-*.txt")
	if err != nil {
		return ""
	}
	_, err = f.text.WriteTo(file)
	if err := file.Close(); err != nil {
		return ""
	}
	if err != nil {
		return ""
	}
	return file.Name()
}

// ownSignal is how the runtime prints SI_TKILL, -6: abort of the C library sends the signal to its own thread.
const ownSignal = "sigcode=18446744073709551610"

// explain says why the runtime ended a process, and what to do about it.
func explain(text, limits string) string {
	has := func(parts ...string) bool {
		for _, part := range parts {
			if strings.Contains(text, part) {
				return true
			}
		}
		return false
	}
	first, _, _ := strings.Cut(text, "\n")
	switch {
	case has("pthread_create failed", "failed to create new OS thread", "newosproc"):
		return "no more threads could be created; " + limits
	case has("netpollinit failed", "too many open files"):
		return "no more files could be opened; " + limits
	case has("out of memory", "cannot allocate memory", "cannot allocate heap metadata", "cannot reserve"):
		return "memory ran out; " + limits
	case strings.HasPrefix(first, "SIGABRT") && has(ownSignal):
		return "it aborted itself, as it does when no more threads can be created; " + limits
	case strings.HasPrefix(first, "SIG"):
		return "it received " + strings.TrimSuffix(first, "\n") + ", which another process may have sent; if none did, " +
			"this is a defect of gpurun: report it with the stacks"
	}
	return first + "; this is a defect of gpurun: report it with the stacks"
}
