package outcome

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
	"gpurun/worker/result"
	"gpurun/worker/result/ci"
	"gpurun/worker/result/trace"
	"gpurun/worker/result/webpage"
)

// Conclude writes the files of a run: its report, the files for CI systems, and a trace. It returns the error of the
// run. If the run has none, it returns the error of writing a file, here or before; otherwise it prints that error.
func Conclude(a *program.Invocation, title string, c settings.Config, r result.Report, ended error,
	unwritten ...error,
) error {
	unwritten = append(unwritten, writeFiles(title, c, r))
	summarize(a.Err, title, r)
	return Ended(a, ended, errors.Join(unwritten...))
}

// Ended returns the error of a run. If the run has none, it returns that of writing its results; otherwise it prints
// that one: a disk that is full hides no wrong result.
func Ended(a *program.Invocation, ended, writing error) error {
	if ended == nil {
		return writing
	}
	if writing != nil {
		fmt.Fprintf(a.Err, "gpurun: %v\n", writing)
	}
	return ended
}

// Unable returns why a run could not begin. If the machine lacks something, Unable writes the files first: a reader
// would otherwise find the files of the run before, and take a machine without its GPUs for a healthy one. It does not
// write over files that the run would have read.
func Unable(a *program.Invocation, title string, flags *pflag.FlagSet, why error) error {
	if exit.Code(why) != exit.Environment {
		return why
	}
	s, err := settings.Load(flags)
	if err != nil {
		return why
	}
	c, err := settings.Read(s)
	if err != nil {
		return why
	}
	read := slices.Concat(flags.Args(), c.Algo, []string{s.File(), c.Profile})
	if err := settings.CheckFiles(c.Outputs(c.Trace), read...); err != nil {
		return err
	}
	return Conclude(a, title, c, NotBegun(a, why), why)
}

// NotBegun is the report of a run that could not begin.
func NotBegun(a *program.Invocation, why error) result.Report {
	return result.Report{
		Schema: result.Schema, Version: program.Version(), Command: a.Args, Failure: why.Error(), ExitCode: exit.Code(why),
	}
}

// writePage writes a report as a page, with the timeline of the recorded call.
func writePage(w io.Writer, title string, r result.Report) error {
	documents := []webpage.Document{webpage.Run(title, r)}
	if len(r.Timeline.Ranks) > 0 {
		var text bytes.Buffer
		if err := trace.Write(&text, r.Timeline); err != nil {
			return err
		}
		timeline, err := webpage.Trace(text.Bytes())
		if err != nil {
			return err
		}
		documents[0].Sections = append(documents[0].Sections, timeline.Sections...)
	}
	return webpage.Write(w, title, documents...)
}

func writeFiles(title string, c settings.Config, r result.Report) error {
	var all []error
	if c.OutputFile != "" {
		all = append(all, result.WriteFile(c.OutputFile, r))
	}
	if c.JUnit != "" {
		all = append(all, result.Replace(c.JUnit, func(w io.Writer) error { return ci.JUnit(w, title, r) }))
	}
	if c.Prometheus != "" {
		all = append(all, result.Replace(c.Prometheus, func(w io.Writer) error { return ci.Prometheus(w, r) }))
	}
	if c.HTML != "" {
		all = append(all, result.Replace(c.HTML, func(w io.Writer) error { return writePage(w, title, r) }))
	}
	if c.Trace != "" && len(r.Timeline.Ranks) > 0 {
		r.Timeline.Title = strings.Join(append([]string{"gpurun"}, r.Command[min(1, len(r.Command)):]...), " ")
		all = append(all, result.Replace(c.Trace, func(w io.Writer) error { return trace.Write(w, r.Timeline) }))
	}
	return errors.Join(all...)
}
