package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/foreign"
	"gpurun/cmd/gpurun/phrase"
	"gpurun/cmd/gpurun/plan"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/session"
	"gpurun/cmd/gpurun/settings"
	"gpurun/kernels/libraries"
	"gpurun/worker/bench"
	"gpurun/worker/plot"
	"gpurun/worker/result"
)

// Run is algorithms that are about to be measured side by side.
type Run struct {
	*plan.Collective
	against   string
	svg       string // a file; empty: none
	plot      bool
	plotAsked bool // by a flag, one way or the other
	added     bool // nccl takes part, and nobody asked for it
}

// What each rank copies to find out what the links carry.
const (
	ceilingBytes          = 64 << 20
	simulatedCeilingBytes = 1 << 20
)

// sideBySide makes rounds of the job. The naive algorithm is measured only when it is named,
// or alone.
func (b *Run) sideBySide() error {
	b.Job.Rounds = b.Config.Rounds
	switch {
	case b.What.Shape.Empty: // there is nothing to carry
	case b.Machine.Backend == "sim":
		b.Job.CeilingBytes = simulatedCeilingBytes
	default:
		b.Job.CeilingBytes = ceilingBytes
	}
	if open := slices.Contains(b.Config.Algo, settings.All); open && len(b.Job.Algorithms) > 1 && !slices.Contains(b.Config.Algo, plan.Naive) {
		if i := slices.Index(b.Job.Algorithms, plan.Naive); i >= 0 {
			b.Job.Algorithms = slices.Delete(b.Job.Algorithms, i, i+1)
			b.LeftOut = strings.Join(append([]string{plan.Naive + " (it is slow; name it to have it measured)"}, b.leftOuts()...), ", ")
		}
	}
	b.compareWithNCCL(foreign.Libraries()[libraries.NCCLName])
	return b.chooseBase()
}

// leftOuts is what is left out already, if anything.
func (b *Run) leftOuts() []string {
	if b.LeftOut == "" {
		return nil
	}
	return []string{b.LeftOut}
}

// chooseBase decides what ratios are to.
func (b *Run) chooseBase() error {
	const usual = libraries.NCCLName
	names := b.Job.Algorithms
	switch b.against = b.Config.Against; {
	case b.against != "" && !slices.Contains(names, b.against):
		err := exit.Usagef("--against %s: it is not measured; %s can be, or add it to --algo", b.against, phrase.OrList(names))
		if b.LeftOut != "" {
			err = exit.Usagef("%w (left out: %s)", err, b.LeftOut)
		}
		if b.against == usual && b.Remark != "" {
			err = exit.Usagef("%w; %s", err, b.Remark)
		}
		return err
	case b.against != "":
	case slices.Contains(names, usual):
		b.against = usual
	default:
		b.against = names[0]
	}
	return nil
}

// Show measures, prints the table as it grows, and draws.
func Show(ctx context.Context, a *program.Invocation, b *Run) error {
	return b.Show(ctx, a, session.Show{
		Title: Title + " " + b.What.Name, Renderer: b.renderer,
		Then: func(r result.Report, ended error) error { return b.draw(a, r, ended) },
	})
}

// draw draws what was measured, however fast it was.
func (b *Run) draw(a *program.Invocation, r result.Report, ended error) error {
	code := exit.Code(ended)
	if b.added && (code == exit.Environment || code == exit.Timeout) {
		fmt.Fprintln(a.Err, "gpurun: nccl took part because no --algo was given: --algo all does without it")
	}
	if ended != nil && code != exit.Threshold {
		return nil
	}
	panels := bench.Panels(r)
	return errors.Join(b.drawSVG(r, panels), b.drawText(a, panels))
}

// renderer prints tables of bench's own; the other forms are those of all runs.
func (b *Run) renderer(w io.Writer) (result.Renderer, error) {
	format := result.Format(b.Config.Output)
	if format != result.TableFormat && format != result.MarkdownFormat {
		return result.NewRenderer(format, w)
	}
	return bench.NewTable(w, bench.Options{
		Against: b.against, Rounds: b.Job.Rounds, Iterations: b.Job.Iterations, Graph: b.Job.GraphReplays > 0,
		Markdown: format == result.MarkdownFormat,
	}), nil
}

func (b *Run) drawSVG(r result.Report, panels []plot.Panel) error {
	if b.svg == "" {
		return nil
	}
	var text bytes.Buffer
	if err := plot.SVG(&text, b.What.Name+" on "+result.Machines(r.Devices), panels); err != nil {
		return err
	}
	if err := os.WriteFile(b.svg, text.Bytes(), 0o644); err != nil {
		return fmt.Errorf("drawing: %w", err)
	}
	return nil
}

// A plot in characters is no wider than textWidth, wherever there is more room.
const (
	textWidth  = 96
	textHeight = 14
)

// drawText draws in characters: if that is asked for, or if a terminal gets a table.
func (b *Run) drawText(a *program.Invocation, panels []plot.Panel) error {
	out, width, terminal := a.Out, textWidth, false
	if b.Config.Output != string(result.TableFormat) {
		out = a.Err
	}
	if file, ok := out.(*os.File); ok && term.IsTerminal(int(file.Fd())) {
		terminal = true
		if columns, _, err := term.GetSize(int(file.Fd())); err == nil && columns > 0 {
			width = min(width, columns-1)
		}
	}
	show := b.plot
	if !b.plotAsked {
		show = terminal && b.Config.Output == string(result.TableFormat)
	}
	if !show {
		return nil
	}
	for _, p := range panels {
		if _, err := fmt.Fprintln(out); err != nil {
			return err
		}
		if err := plot.Text(out, p, width, textHeight); err != nil {
			return err
		}
	}
	return nil
}
