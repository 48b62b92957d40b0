package outcome

import (
	"errors"
	"fmt"
	"io"
	"os"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/program"
	"gpurun/worker/result"
	"gpurun/worker/result/ci"
)

// GitHub Actions says by these variables that it runs the job, and where the
// job's summary is. That takes so many bytes of a step.
const (
	githubActions  = "GITHUB_ACTIONS"
	githubSummary  = "GITHUB_STEP_SUMMARY"
	maxSummarySize = 1 << 20
)

// OnGitHub reports whether GitHub Actions runs the job.
func OnGitHub() bool { return os.Getenv(githubActions) == "true" }

// summarize adds a report to the summary that GitHub Actions shows, if it runs the job. A
// summary is for people: no run fails for the lack of it.
func summarize(stderr io.Writer, title string, r result.Report) {
	file := os.Getenv(githubSummary)
	if file == "" || !OnGitHub() {
		return
	}
	if err := appendSummary(file, title, r); err != nil {
		fmt.Fprintf(stderr, "gpurun: warning: %v\n", err)
	}
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

// Annotated shows an error at the top of a run of GitHub Actions. It does so once: of the two processes of an
// invocation, only one has the error's message.
func Annotated(a *program.Invocation, title string, err error) error {
	if err == nil || !OnGitHub() {
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
