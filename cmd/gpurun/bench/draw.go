package bench

import (
	"bytes"
	"errors"
	"fmt"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/terminal"
	"gpurun/worker/result"
	"gpurun/worker/result/bench"
	"gpurun/worker/result/plot"
)

// draw draws what was measured, however fast it was.
func (b *Run) draw(a *program.Invocation, r result.Report, ended error) error {
	code := exit.Code(ended)
	if b.added && (code == exit.Environment || code == exit.Timeout) {
		fmt.Fprintln(a.Err, "gpurun: nccl was measured because --algo was not given; --algo all leaves it out")
	}
	if ended != nil && code != exit.Threshold {
		return nil
	}
	panels := bench.Fastest(bench.Panels(r), lines)
	return errors.Join(b.drawSVG(r, panels), b.drawText(a, panels))
}

func (b *Run) drawSVG(r result.Report, panels []plot.Panel) error {
	if b.svg == "" {
		return nil
	}
	var text bytes.Buffer
	if err := plot.SVG(&text, b.Collective.Name+" on "+result.Machines(r.Devices), panels); err != nil {
		return err
	}
	if err := result.WriteText(b.svg, text.Bytes()); err != nil {
		return fmt.Errorf("drawing: %w", err)
	}
	return nil
}

// A plot in characters is no wider than textWidth, wherever there is more room.
const (
	textWidth  = 96
	textHeight = 14
)

// lines is the number of curves in a plot that a reader can tell apart.
const lines = 4

// drawText draws in characters: if that is asked for, or if a terminal gets a table.
func (b *Run) drawText(a *program.Invocation, panels []plot.Panel) error {
	out, width := a.Out, textWidth
	if b.Config.Output != string(result.TableFormat) {
		out = a.Err
	}
	onTerminal := terminal.Is(out)
	if onTerminal {
		width = min(width, terminal.Width(out)-1)
	}
	show := b.plot
	if !b.plotAsked {
		show = onTerminal && b.Config.Output == string(result.TableFormat)
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
