package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
	"gpurun/worker/result"
	"gpurun/worker/result/ci"
	"gpurun/worker/trace"
)

// GitHub Actions says by these variables that it runs the job, and where the
// job's summary is. That takes so many bytes of a step.
const (
	githubActions  = "GITHUB_ACTIONS"
	githubSummary  = "GITHUB_STEP_SUMMARY"
	maxSummarySize = 1 << 20
)

// onGitHub reports whether GitHub Actions runs the job.
func onGitHub() bool { return os.Getenv(githubActions) == "true" }

// publish writes what CI systems read of a report.
func publish(a *program.Invocation, title string, c settings.Config, r result.Report) error {
	var err error
	if c.JUnit != "" {
		err = errors.Join(err, result.Replace(c.JUnit, func(w io.Writer) error { return ci.JUnit(w, title, r) }))
	}
	if c.Prometheus != "" {
		err = errors.Join(err, result.Replace(c.Prometheus, func(w io.Writer) error { return ci.Prometheus(w, r) }))
	}
	if c.Trace != "" && len(r.Timeline.Ranks) > 0 {
		r.Timeline.Title = strings.Join(append([]string{"gpurun"}, r.Command[min(1, len(r.Command)):]...), " ")
		err = errors.Join(err, result.Replace(c.Trace, func(w io.Writer) error { return trace.Write(w, r.Timeline) }))
	}
	if file := os.Getenv(githubSummary); file != "" && onGitHub() {
		if err := appendSummary(file, title, r); err != nil { // a summary is for people: no run fails for the lack of it
			fmt.Fprintf(a.Err, "gpurun: warning: %v\n", err)
		}
	}
	return err
}

// unable returns why a run could not begin. Where that is what the machine lacks, it
// is published first: else who reads the files finds those of the run before, and takes
// a machine that has lost its GPUs for a healthy one.
func unable(a *program.Invocation, title string, cmd *cobra.Command, why error) error {
	if exit.Code(why) != exit.Environment {
		return why
	}
	s, err := settings.Load(cmd.Flags())
	if err != nil {
		return why
	}
	c, err := s.Config()
	if err != nil {
		return why
	}
	r := result.Report{
		Schema: result.Schema, Version: program.Version(), Command: a.Args, Failure: why.Error(), ExitCode: exit.Environment,
	}
	if c.OutputFile != "" {
		err = result.WriteFile(c.OutputFile, r)
	}
	return endedWith(a, why, errors.Join(err, publish(a, title, c, r)))
}

// endedWith returns how a run ended. That something could not be written is an
// error where there is no other, and else is only said.
func endedWith(a *program.Invocation, ended, writing error) error {
	if ended == nil {
		return writing
	}
	if writing != nil {
		fmt.Fprintf(a.Err, "gpurun: %v\n", writing)
	}
	return ended
}

// appendSummary adds to the step's summary as much as it may still hold.
func appendSummary(file, title string, r result.Report) (err error) {
	f, err := os.OpenFile(file, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("writing the step summary: %w", err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("writing the step summary: %w", err)
	}
	if _, err := f.WriteString(ci.Summary(title, r, int(max(maxSummarySize-info.Size(), 0)))); err != nil {
		return fmt.Errorf("writing the step summary: %w", err)
	}
	return nil
}

// annotated shows an error at the top of a run of GitHub Actions, once: of the
// two processes of an invocation only the one that knows the reason has something to
// say.
func annotated(a *program.Invocation, title string, err error) error {
	if err == nil || !onGitHub() {
		return err
	}
	text := exit.Describe(err)
	var ended *exit.Error
	if errors.As(err, &ended) && ended.Said != "" {
		text = ended.Said
	}
	if text != "" {
		fmt.Fprintln(a.Err, ci.Annotation(title, text))
	}
	return err
}
