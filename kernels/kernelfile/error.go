package kernelfile

import "fmt"

// Error is an error of a kernel file, with its place.
type Error struct {
	Path    string
	Line    int // from 1 on; 0: of the file as a whole
	Message string
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Path + ": " + e.Message
	}
	return fmt.Sprintf("%s:%d: %s", e.Path, e.Line, e.Message)
}

// errorAt makes an error of the file.
func (f *File) errorAt(line int, format string, args ...any) error {
	return &Error{f.Path, line, fmt.Sprintf(format, args...)}
}
