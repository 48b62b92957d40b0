package smoke

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/outcome"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/session"
	"gpurun/cmd/gpurun/terminal"
	"gpurun/worker/result"
	"gpurun/worker/result/gate"
)

// row is what came of one collective.
type row struct {
	name  string
	ran   bool
	cases []result.Result
	took  time.Duration
}

// Show examines the machine, runs one collective after the other, and says how it
// ended.
func Show(ctx context.Context, a *program.Invocation, s *Run) error {
	progress := session.NewProgress(a.Err)
	defer progress.Clear()
	all := result.Report{
		Schema: result.Schema, Version: program.Version(), Command: a.Args, WorldSize: s.runs[0].Host.Ranks,
	}
	blind := s.look(ctx, a, progress.Beside(a.Err), &all)
	if blind != nil { // the files must have the failure, too
		all.Failure, all.ExitCode = blind.Error(), exit.Code(blind)
	}
	rows, before := make([]row, len(s.runs)), 0
	for i, p := range s.runs {
		rows[i].name = p.name
		if all.Failure == "" { // else it would fail likewise, after a timeout of its own
			progress.Within(before, p.calls, s.calls())
			rows[i] = one(ctx, a, p, progress, &all)
		}
		before += p.calls
	}
	if all.Failure == "" {
		outcome.Judge(s.gate, &all)
	}
	all.Passed = all.ExitCode == exit.OK
	progress.Clear()
	outcome.ExplainSpeed(a.Err, all)
	return outcome.Conclude(a, Title, s.config, all, outcome.Of(all, blind), s.write(a, rows, all))
}

// calls is the number of calls of all runs.
func (s *Run) calls() (n int) {
	for _, r := range s.runs {
		n += r.calls
	}
	return n
}

// look examines the machine. The collectives run even if a check has failed: their results show how serious it is.
func (s *Run) look(ctx context.Context, a *program.Invocation, stderr io.Writer, all *result.Report) error {
	if s.examine == nil {
		return nil
	}
	checks, code, err := s.examine(ctx, a, s.config)
	if err != nil {
		return fmt.Errorf("checking the machine: %w", err)
	}
	all.Checks, all.ExitCode = checks, code
	for _, c := range checks {
		if c.Status != result.StatusOK {
			fmt.Fprintf(stderr, "gpurun: %s: %s\n", c.Status, c)
		}
	}
	return nil
}

// one runs one collective and adds what it found to the report of all.
func one(ctx context.Context, a *program.Invocation, p namedRun, progress *session.Progress, all *result.Report) row {
	begun := time.Now()
	report, err := p.Measure(ctx, a, nil, progress)
	code := exit.Code(err)
	if all.Devices == nil {
		all.Devices = report.Devices
	}
	all.Results = append(all.Results, report.Results...)
	if code != exit.OK && code != exit.WrongData {
		all.Failure = p.name + ": " + cmp.Or(report.Failure, err.Error())
	}
	all.ExitCode = exit.Worse(all.ExitCode, code)
	return row{p.name, true, report.Results, time.Since(begun)}
}

// write prints the table with the verdict, or JSON; then the verdict goes to standard error.
func (s *Run) write(a *program.Invocation, rows []row, all result.Report) error {
	if !s.json {
		return writeTable(a.Out, rows, all)
	}
	return errors.Join(result.WriteJSON(a.Out, all), terminal.WriteText(a.Err, verdict(all)+"\n"))
}

// writeTable prints a line for each collective, and the verdict.
func writeTable(w io.Writer, rows []row, all result.Report) error {
	if machines := all.Machines(); machines != "" {
		fmt.Fprintf(w, "%s\n\n", machines)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "COLLECTIVE\tCASES\tWRONG\tNEAREST TO ITS THRESHOLD\tTIME")
	for _, row := range rows {
		if !row.ran {
			fmt.Fprintf(t, "%s\t-\t-\tnot run\t-\n", row.name)
			continue
		}
		fmt.Fprintf(t, "%s\t%d\t%d\t%s\t%.1fs\n", row.name, len(row.cases), wrongCases(row.cases),
			nearestThreshold(all.Gate, row.name), row.took.Seconds())
	}
	if err := t.Flush(); err != nil {
		return err
	}
	return terminal.WriteText(w, fmt.Sprintf("\n%s\n", verdict(all)))
}

func verdict(all result.Report) string {
	text := all.Verdict()
	if all.Passed && all.Gate != nil && all.Gate.Note != "" {
		text += ": " + all.Gate.Note
	}
	return text
}

func wrongCases(results []result.Result) int {
	wrong := 0
	for _, r := range results {
		if r.IsWrong() {
			wrong++
		}
	}
	return wrong
}

const noThreshold = "no threshold"

// nearestThreshold says of a collective which of its thresholds was the hardest
// to keep, or missed by most.
func nearestThreshold(g *result.Gate, name string) string {
	text, least := noThreshold, 0.0
	if g == nil {
		return text
	}
	for _, r := range g.Rules {
		if r.Collective != name || r.Worst == nil {
			continue
		}
		ratio, form := *r.Worst/r.Limit, "%.4g of %.4g GB/s"
		if r.Metric == string(gate.Latency) {
			ratio, form = r.Limit / *r.Worst, "%.4g of at most %.4g us"
		}
		if text == noThreshold || ratio < least {
			text, least = fmt.Sprintf(form, *r.Worst, r.Limit)+" ("+r.Rule+")", ratio
		}
	}
	return text
}
