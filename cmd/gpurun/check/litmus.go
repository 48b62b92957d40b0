package check

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/program"
	"gpurun/cudart/sim/check/litmus"
)

// LitmusOptions are the flags of litmus tests.
type LitmusOptions struct {
	On     bool
	Expect string
	Unroll int
}

// withLitmus are the flags of litmus tests, and usualUnroll how often a loop is repeated.
var withLitmus = []string{"litmus", "expect", "unroll"}

const (
	usualUnroll = 2
	mostUnroll  = 16
)

func (o *LitmusOptions) add(f *pflag.FlagSet) {
	f.BoolVar(&o.On, "litmus", false, "explore litmus tests under the memory model of PTX: words are files or folders")
	f.StringVar(&o.Expect, "expect", "", "CSV `file` of the verdicts that litmus tests must have: path and 0 or 1")
	f.IntVar(&o.Unroll, "unroll", usualUnroll, "`number` of times that a litmus test repeats a loop at most")
}

// changed reports whether a flag of litmus tests was given.
func (o *LitmusOptions) changed(f *pflag.FlagSet) bool {
	return f.Changed("litmus") || f.Changed("expect") || f.Changed("unroll")
}

func (o *LitmusOptions) read(f *pflag.FlagSet) error {
	if !o.On {
		return exit.Usagef("--expect and --unroll are flags of litmus tests; add --litmus")
	}
	if o.Unroll < 1 || o.Unroll > mostUnroll {
		return exit.Usagef("--unroll: %d is not between 1 and %d", o.Unroll, mostUnroll)
	}
	return onlyWith(f, withLitmus, "litmus tests run no kernels, and have no such flag")
}

// ShowLitmus explores the litmus tests in files and folders, and prints what the model says of each. The error has the
// exit code: 1 where a verdict is not the expected one, 2 where a file is no test, 7 where a test is not modeled.
func ShowLitmus(a *program.Invocation, o LitmusOptions, paths []string) error {
	if len(paths) == 0 {
		return exit.Usagef("--litmus: name files, or folders with files that end in .litmus")
	}
	expected, err := o.expectations()
	if err != nil {
		return err
	}
	s, err := litmus.Run(a.Out, paths, expected, litmus.Options{Unroll: o.Unroll})
	if err != nil {
		return &exit.UsageError{Err: err}
	}
	said := "1 litmus test"
	if s.Tests != 1 {
		said = fmt.Sprintf("%d litmus tests", s.Tests)
	}
	if expected != nil {
		said += fmt.Sprintf(": verdicts of %d as expected, of %d not", s.Agree, s.Missed)
	}
	if s.Unsupported+s.Failed > 0 {
		said += fmt.Sprintf("; %d not modeled, %d with errors", s.Unsupported, s.Failed)
	}
	fmt.Fprintln(a.Out, said)
	switch {
	case s.Missed > 0:
		return &exit.Error{Code: exit.WrongData, Said: said}
	case s.Failed > 0:
		return &exit.Error{Code: exit.Usage, Said: said}
	case s.Unsupported > 0:
		return &exit.Error{Code: exit.Incomplete, Said: said}
	case s.Tests == 0:
		return &exit.UsageError{Err: errors.New("--expect: the file has no verdict of any of these tests")}
	}
	return nil
}

// expectations reads the file of --expect; without one they are nil.
func (o LitmusOptions) expectations() (litmus.Expectations, error) {
	if o.Expect == "" {
		return nil, nil
	}
	f, err := os.Open(o.Expect)
	if err != nil {
		return nil, exit.Usagef("--expect: %w", err)
	}
	defer f.Close()
	e, err := litmus.ReadExpectations(f)
	if err != nil {
		return nil, exit.Usagef("--expect: %w", err)
	}
	return e, nil
}
