package dl

import "fmt"

// Code is a library's own word for how a call ended, of which 0 is success. It is an
// error that has the library's name for it, so that callers can write errors.Is(err, nccl.ErrSystem).
type Code interface {
	~int32
	error
	// Advice says what to do about it; it may be empty.
	Advice() string
}

// Failure is a call that failed.
type Failure[C Code] struct {
	Op   string // what was called, such as "ncclAllReduce"
	Code C
	Text string // the library's own account; may be empty
}

// Error reads "ncclAllReduce: ncclInvalidUsage (5): the library's account; what to do".
func (f *Failure[C]) Error() string {
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
func (f *Failure[C]) Unwrap() error { return f.Code }

// Check turns what a function returned into an error, a [Failure] with what explain, if there is
// one, has to say about the code.
func Check[C Code](f Func, code C, explain func(C) string) error {
	if code == 0 {
		return nil
	}
	failed := &Failure[C]{Op: f.Name(), Code: code}
	if explain != nil {
		failed.Text = explain(code)
	}
	return failed
}
