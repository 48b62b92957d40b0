package bench

import (
	"context"
	"errors"
	"io"
	"slices"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/foreign"
	"gpurun/cmd/gpurun/plan"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/session"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/suggest"
	"gpurun/cmd/gpurun/terminal"
	"gpurun/kernels/libraries"
	"gpurun/worker/result"
	"gpurun/worker/result/bench"
)

// Run is algorithms that are about to be measured side by side.
type Run struct {
	*plan.CollectiveRun
	against   string
	svg       string // a file; empty: none
	plot      bool
	plotAsked bool // by a flag, one way or the other
	added     bool // nccl is measured because --algo is not set
}

// The bytes that each rank copies to measure the link ceiling.
const (
	ceilingBytes          = 64 << 20
	simulatedCeilingBytes = 1 << 20
)

// sideBySide makes passes of the job.
func (b *Run) sideBySide() error {
	b.Job.Passes = b.Config.Rounds
	switch {
	case b.Collective.Shape.Empty: // there is nothing to carry
	case b.Host.Backend == "sim":
		b.Job.CeilingBytes = simulatedCeilingBytes
	default:
		b.Job.CeilingBytes = ceilingBytes
	}
	if dropNaive(&b.Run) {
		others := b.LeftOut
		if b.LeftOut = plan.Naive + " (slow; --algo all,naive measures it)"; others != "" {
			b.LeftOut += ", " + others
		}
	}
	b.compareWithNCCL(foreign.Libraries()[libraries.NCCLName])
	return b.chooseBase()
}

// dropNaive leaves the naive algorithm out of all that can be measured: it takes far longer than
// the others. It stays where it is named, or alone.
func dropNaive(r *session.Run) bool {
	i := slices.Index(r.Job.Algorithms, plan.Naive)
	if i < 0 || len(r.Job.Algorithms) == 1 || !slices.Contains(r.Config.Algo, settings.All) ||
		slices.Contains(r.Config.Algo, plan.Naive) {
		return false
	}
	r.Job.Algorithms = slices.Delete(r.Job.Algorithms, i, i+1)
	return true
}

// chooseBase decides what ratios are to.
func (b *Run) chooseBase() error {
	const usual = libraries.NCCLName
	names := b.Job.Algorithms
	switch b.against = b.Config.Against; {
	case b.against == usual && !slices.Contains(names, usual) && b.Host.Backend == "sim":
		return &exit.EnvironmentError{
			Err: errors.New("--against nccl: NCCL needs GPUs, and the devices are simulated: omit --against"),
		}
	case b.against != "" && !slices.Contains(names, b.against):
		err := exit.Usagef("--against %s: not measured; use %s, or add it to --algo", b.against, suggest.OrList(names))
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
		Title:    Title + " " + b.Collective.Name,
		Renderer: func(w io.Writer) (result.Renderer, error) { return b.renderer(a.Out, w) },
		Then:     func(r result.Report, ended error) error { return b.draw(a, r, ended) },
	})
}

// renderer prints tables of bench's own to out, by way of w; the other forms are those of all runs.
func (b *Run) renderer(out, w io.Writer) (result.Renderer, error) {
	format := result.Format(b.Config.Output)
	if format != result.TableFormat && format != result.MarkdownFormat {
		return result.NewRenderer(format, w)
	}
	w, width := terminal.Results(out, w)
	return bench.NewTable(w, bench.Options{
		Against: b.against, Passes: b.Job.Passes, Iterations: b.Job.Iterations, Graph: b.Job.GraphReplays > 0,
		Markdown: format == result.MarkdownFormat, Width: width,
	}), nil
}
