package main

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
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
	"gpurun/kernels/libraries"
	"gpurun/worker/bench"
	"gpurun/worker/plot"
	"gpurun/worker/result"
)

// benchRun is algorithms that are about to be measured side by side.
type benchRun struct {
	*collectiveRun
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

// naive is measured only when it is named, or alone: it takes far longer than the others.
const naive = "naive"

// sideBySide makes rounds of the job.
func (b *benchRun) sideBySide() error {
	b.job.Rounds = b.config.Rounds
	switch {
	case b.what.Shape.Empty: // there is nothing to carry
	case b.machine.Backend == "sim":
		b.job.CeilingBytes = simulatedCeilingBytes
	default:
		b.job.CeilingBytes = ceilingBytes
	}
	if open := slices.Contains(b.config.Algo, settings.All); open && len(b.job.Algorithms) > 1 && !slices.Contains(b.config.Algo, naive) {
		if i := slices.Index(b.job.Algorithms, naive); i >= 0 {
			b.job.Algorithms = slices.Delete(b.job.Algorithms, i, i+1)
			b.leftOut = strings.Join(append([]string{naive + " (it is slow; name it to have it measured)"}, b.leftOuts()...), ", ")
		}
	}
	b.compareWithNCCL(foreign.Libraries()[libraries.NCCLName])
	return b.chooseBase()
}

// leftOuts is what is left out already, if anything.
func (b *benchRun) leftOuts() []string {
	if b.leftOut == "" {
		return nil
	}
	return []string{b.leftOut}
}

// chooseBase decides what ratios are to.
func (b *benchRun) chooseBase() error {
	const usual = libraries.NCCLName
	names := b.job.Algorithms
	switch b.against = b.config.Against; {
	case b.against != "" && !slices.Contains(names, b.against):
		err := exit.Usagef("--against %s: it is not measured; %s can be, or add it to --algo", b.against, phrase.OrList(names))
		if b.leftOut != "" {
			err = exit.Usagef("%w (left out: %s)", err, b.leftOut)
		}
		if b.against == usual && b.remark != "" {
			err = exit.Usagef("%w; %s", err, b.remark)
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

// run measures, prints the table as it grows, and draws.
func (b *benchRun) run(ctx context.Context, a *program.Invocation) error {
	progress := newProgress(a.Err)
	defer progress.clear()
	renderer, err := b.renderer(progress.beside(a.Out))
	if err != nil {
		return err
	}
	report, ended := b.measure(ctx, a, renderer, progress)
	progress.clear()
	sayNote(a.Err, report)
	if code := exit.Code(ended); b.added && (code == exit.Environment || code == exit.Timeout) {
		fmt.Fprintln(a.Err, "gpurun: nccl took part because no --algo was given: --algo all does without it")
	}
	if ended == nil || exit.Code(ended) == exit.Threshold {
		panels := bench.Panels(report)
		err = errors.Join(b.drawSVG(report, panels), b.drawText(a, panels))
	}
	return endedWith(a, ended, errors.Join(err, publish(a, "gpurun bench "+b.what.Name, b.config, report)))
}

// renderer prints tables of bench's own; the other forms are those of all runs.
func (b *benchRun) renderer(w io.Writer) (result.Renderer, error) {
	format := result.Format(b.config.Output)
	if format != result.TableFormat && format != result.MarkdownFormat {
		return result.NewRenderer(format, w)
	}
	return bench.NewTable(w, bench.Options{
		Against: b.against, Rounds: b.job.Rounds, Iterations: b.job.Iterations, Graph: b.job.GraphReplays > 0,
		Markdown: format == result.MarkdownFormat,
	}), nil
}

func (b *benchRun) drawSVG(r result.Report, panels []plot.Panel) error {
	if b.svg == "" {
		return nil
	}
	var text bytes.Buffer
	if err := plot.SVG(&text, b.what.Name+" on "+result.Machines(r.Devices), panels); err != nil {
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
func (b *benchRun) drawText(a *program.Invocation, panels []plot.Panel) error {
	out, width, terminal := a.Out, textWidth, false
	if b.config.Output != string(result.TableFormat) {
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
		show = terminal && b.config.Output == string(result.TableFormat)
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
