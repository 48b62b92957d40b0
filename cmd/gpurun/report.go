package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/checkreport"
	"gpurun/cmd/gpurun/doctor"
	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/outcome"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
	"gpurun/worker/result"
	"gpurun/worker/result/bench"
	"gpurun/worker/result/webpage"
)

const reportLong = `report makes one page for a browser of results in files: those that -J wrote (of a collective, a
product, bench, smoke or tune), those of check --json, doctor --json, compare --output json and
--trace. The page needs no network: plots, tables, findings and timelines are all in it.

The same page of one result: --html FILE of the command that measures it.

Exit codes: 0 the page is written, whatever the results say; 2 usage, or a file is no result;
3 the page cannot be written.`

const reportExample = `  gpurun bench allreduce -J bench.json
  gpurun report bench.json -o report.html
  gpurun check mine.toml --json check.json; gpurun report bench.json check.json -o report.html`

func newReportCommand(a *program.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "report FILE.json...",
		Short:   "Make one page for a browser of results in files",
		Long:    reportLong,
		Example: reportExample,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return []cobra.Completion{"json"}, cobra.ShellCompDirectiveFilterFileExt
		},
	}
	output := cmd.Flags().StringP("output-file", "o", "report.html", "`file` of the page")
	title := cmd.Flags().String("title", "gpurun report", "`title` of the page")
	takeLauncherFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, files []string) error {
		if len(files) == 0 {
			return usageError(exit.Usagef("report takes files of results, as -J or --json writes them"), cmd)
		}
		err := reportFiles(*output, *title, files)
		if err == nil && !cmd.Flags().Changed("output-file") {
			fmt.Fprintf(a.Err, "gpurun: the page is in %s: open it in a browser\n", *output)
		}
		return outcome.Annotated(a, "gpurun report", err)
	}
	return cmd
}

// reportFiles reads files, and writes the page of them.
func reportFiles(output, title string, files []string) error {
	if err := settings.CheckFiles([]string{output}, files...); err != nil {
		return err
	}
	var documents []webpage.Document
	for _, file := range files {
		text, err := settings.ReadFile(file, maxReportBytes)
		if err != nil {
			return exit.Usagef("reading a result: %w", err)
		}
		d, err := document(text)
		if err != nil {
			return exit.Usagef("%s: %w", file, err)
		}
		d.Source = file
		documents = append(documents, d)
	}
	return writePage(output, title, documents...)
}

func writePage(file, title string, documents ...webpage.Document) error {
	return result.Replace(file, func(w io.Writer) error { return webpage.Write(w, title, documents...) })
}

// A readable is a kind of result, which a key of its JSON tells.
type readable struct {
	key  string
	read func(text []byte) (webpage.Document, error)
}

// readables are the kinds of results, those with the most telling keys first.
func readables() []readable {
	return []readable{
		{"traceEvents", webpage.Trace},
		{"changes", decoded(func(c bench.Comparison) webpage.Document { return webpage.Comparison("gpurun compare", c) })},
		{"cases", decoded(func(r checkreport.Report) webpage.Document {
			return checkreport.Page(commandTitle("gpurun check", r.Command), r)
		})},
		{"findings", decoded(func(d doctor.Diagnosis) webpage.Document { return doctor.Page(doctorTitle, d) })},
		{"results", readRun},
	}
}

// readRun reads a report of a run, of the schema that this gpurun knows.
func readRun(text []byte) (webpage.Document, error) {
	var r result.Report
	if err := json.Unmarshal(text, &r); err != nil {
		return webpage.Document{}, err
	}
	if r.Schema != result.Schema {
		return webpage.Document{}, fmt.Errorf("the report has schema %d, and this gpurun reads schema %d: use the gpurun "+
			"that wrote it", r.Schema, result.Schema)
	}
	return webpage.Run(commandTitle("gpurun", r.Command), r), nil
}

func decoded[T any](page func(T) webpage.Document) func([]byte) (webpage.Document, error) {
	return func(text []byte) (webpage.Document, error) {
		var value T
		if err := json.Unmarshal(text, &value); err != nil {
			return webpage.Document{}, err
		}
		return page(value), nil
	}
}

// document reads a result of any kind.
func document(text []byte) (webpage.Document, error) {
	var keys map[string]json.RawMessage
	if err := json.Unmarshal(text, &keys); err != nil {
		return webpage.Document{}, fmt.Errorf("not a result of gpurun as JSON: %w", err)
	}
	for _, kind := range readables() {
		if _, ok := keys[kind.key]; ok {
			return kind.read(text)
		}
	}
	return webpage.Document{}, errors.New("JSON, but no result of gpurun: report reads what -J, --json, --trace and " +
		"compare --output json write")
}

// commandTitle is the command that made a result, without the path of the program, or a title where none is known.
func commandTitle(title string, command []string) string {
	if len(command) == 0 {
		return title
	}
	return strings.Join(append([]string{"gpurun"}, command[1:]...), " ")
}
