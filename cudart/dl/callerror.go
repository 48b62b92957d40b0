package dl

import "fmt"

// Code is a library's result code, of which 0 is success. As an error it is the library's name for
// it, so that callers can write errors.Is(err, nccl.ErrSystem).
type Code interface {
	~int32
	error
	// Advice says what to do about the code; it may be empty.
	Advice() string
}

// CodeName is a code's name in the library's headers, or where names has none, its number behind
// what: "ncclResult 77".
func CodeName[C ~int32](code C, names map[C]string, what string) string {
	if name, ok := names[code]; ok {
		return name
	}
	return fmt.Sprintf("%s %d", what, int32(code))
}

// CallError is a failed call of a library.
type CallError[C Code] struct {
	Op   string // the function, such as "ncclAllReduce"
	Code C
	Text string // the library's own message; may be empty
}

// Error reads "ncclAllReduce: ncclInvalidUsage (5): the library's message; what to do".
func (f *CallError[C]) Error() string {
	s := fmt.Sprintf("%s: %s (%d)", f.Op, f.Code.Error(), int32(f.Code))
	if f.Text != "" {
		s += ": " + f.Text
	}
	if advice := f.Code.Advice(); advice != "" {
		s += "; " + advice
	}
	return s
}

// Unwrap makes errors.Is find the code.
func (f *CallError[C]) Unwrap() error { return f.Code }

// Check turns the code that f returned into an error: nil, or a [*CallError]. explain, which may be
// nil, asks the library for its message.
func Check[C Code](f Func, code C, explain func(C) string) error {
	if code == 0 {
		return nil
	}
	failed := &CallError[C]{Op: f.Name(), Code: code}
	if explain != nil {
		failed.Text = explain(code)
	}
	return failed
}
