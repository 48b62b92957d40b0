package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/outcome"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/suggest"
	"gpurun/cmd/gpurun/terminal"
	"gpurun/worker/result"
	"gpurun/worker/result/bench"
	"gpurun/worker/result/webpage"
)

const compareLong = `compare reads two files that gpurun bench -J wrote, and shows for each case by how much the
median changed. A change that may be noise is marked with ~ (Mann-Whitney U, p >= 0.05).
compare needs no GPU. Files of other commands have no samples: only their medians are
compared, without the test for noise.

Each case is tested by itself. Where noise exceeds the tolerance, expect two or three of a
hundred unchanged cases to be reported as slower. Cases that only one run has are listed.
With --all a case that the new run lacks is a failure.

Exit codes: 0 no case is slower by more than --tolerance; 99 a case is slower, beyond noise,
or missing with --all; 2 usage, or a file cannot be read or compared. If the new run itself
failed, by wrong data or an early end, compare exits with the exit code of that run.`

const compareExample = `  gpurun compare before.json after.json
  gpurun compare main.json branch.json --tolerance 3 --all --output markdown`

// maxExitCode is the largest that a process can end with.
const maxExitCode = 255

// maxReportBytes is more than the largest sweep writes.
const maxReportBytes = 1 << 28

func newCompareCommand(a *program.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "compare OLD.json NEW.json",
		Short:   "Compare two results of gpurun bench: which cases are slower or faster, beyond noise",
		Long:    compareLong,
		Example: compareExample,
	}
	tolerance := cmd.Flags().Float64("tolerance", 5, "`percent` that a case may be slower")
	all := cmd.Flags().Bool("all", false, "fail if the new run lacks a case of the old run")
	output := cmd.Flags().String("output", "table", "output `format`: table, markdown or json")
	flags.AddJSON(cmd.Flags())
	html := cmd.Flags().String("html", "", "write the comparison as a page for a browser to this `file`")
	takeLauncherFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		print, ok := map[string]func(bench.Comparison, io.Writer) error{
			"table":    printChanges,
			"markdown": func(c bench.Comparison, w io.Writer) error { return c.Print(w, true, 0) },
			"json":     encodeComparison,
		}[*output]
		switch {
		case !ok:
			return usageError(suggest.Unknown("output format", *output, []string{"table", "markdown", "json"}), cmd)
		case !(*tolerance >= 0) || math.IsInf(*tolerance, 0):
			return usageError(exit.Usagef("--tolerance: %v is not a percentage of 0 or more", *tolerance), cmd)
		case len(files) != 2:
			return usageError(exit.Usagef("compare takes two files, the old and the new, and got %d", len(files)), cmd)
		}
		if err := settings.CheckFiles([]string{*html}, files...); err != nil {
			return usageError(err, cmd)
		}
		return outcome.Annotated(a, "gpurun compare", compare(a, files[0], files[1], *tolerance, *all,
			func(c bench.Comparison, w io.Writer) error {
				if err := print(c, w); err != nil || *html == "" {
					return err
				}
				page := webpage.Comparison("gpurun compare "+files[0]+" "+files[1], c)
				page.Facts = append(page.Facts, webpage.Command(a.Args))
				return writePage(*html, page.Title, page)
			}))
	}
	return cmd
}

// compare prints what changed, and fails if too much did.
func compare(a *program.Invocation, oldFile, newFile string, tolerance float64, all bool,
	print func(bench.Comparison, io.Writer) error,
) error {
	before, err := readReport(oldFile)
	if err != nil {
		return err
	}
	after, err := readReport(newFile)
	if err != nil {
		return err
	}
	failed := failureOf(newFile, after)
	c, err := bench.Compare(before, after, tolerance)
	switch {
	case err != nil && failed != nil: // it may have nothing that could be compared
		return failed
	case err != nil:
		return exit.Usagef("%s and %s: %w", oldFile, newFile, err)
	}
	c.WantAll = all
	for _, warning := range c.Warnings {
		fmt.Fprintf(a.Err, "gpurun: warning: %s\n", warning)
	}
	printing := print(c, a.Out)
	if failures := c.Failures(); failed == nil && len(failures) > 0 {
		failed = &exit.Error{Code: exit.Threshold, Said: strings.Join(failures, "; ")}
	}
	return outcome.Ended(a, failed, printing)
}

// failureOf is how a run failed, or nil: what is wrong or was not reached has no time that could be
// slower. That it was slow is for the comparison to say.
func failureOf(file string, r result.Report) error {
	if r.ExitCode == exit.Threshold || r.ExitCode <= 0 || r.ExitCode > maxExitCode {
		return nil
	}
	return &exit.Error{Code: r.ExitCode, Err: fmt.Errorf("%s: %s", file, r.Verdict())}
}

// readReport reads what -J wrote.
func readReport(file string) (result.Report, error) {
	var r result.Report
	text, err := settings.ReadFile(file, maxReportBytes)
	if err != nil {
		return r, exit.Usagef("reading a report: %w", err)
	}
	wrong := new(json.UnmarshalTypeError)
	switch err := json.Unmarshal(text, &r); {
	case errors.As(err, &wrong):
		return r, exit.Usagef("%s: not a report of gpurun, as -J writes it: %s is a %s", file, wrong.Field, wrong.Value)
	case err != nil:
		return r, exit.Usagef("%s: not a report of gpurun, as -J writes it: %w", file, err)
	}
	switch r.Schema {
	case result.Schema:
		return r, nil
	case 0:
		return r, exit.Usagef("%s: not a report of gpurun, as -J writes it: it has no schema", file)
	}
	return r, exit.Usagef("%s: the report has schema %d, and this gpurun reads schema %d: use the gpurun that wrote it",
		file, r.Schema, result.Schema)
}

// printChanges writes a table, which fits a terminal.
func printChanges(c bench.Comparison, out io.Writer) error {
	w, width := terminal.Results(out, out)
	return c.Print(w, false, width)
}

func encodeComparison(c bench.Comparison, w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	encoder.SetEscapeHTML(false)
	return encoder.Encode(c)
}
