package check

import (
	"context"
	"errors"
	"fmt"
	"io"

	"gpurun/cmd/gpurun/checkreport"
	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/outcome"
	"gpurun/cmd/gpurun/program"
	"gpurun/worker/result"
	"gpurun/worker/result/webpage"
)

// Title names the check in CI systems.
const Title = "gpurun check"

// Show runs the plan, prints the results, and writes the files. The error has the exit code.
func Show(ctx context.Context, a *program.Invocation, p *Plan) error {
	r, err := p.Run(ctx, a)
	if err != nil && len(r.Cases) == 0 {
		return err
	}
	shown := p.options.conclude(a, r)
	if ctx.Err() != nil { // the signal decides the exit code
		return err
	}
	return errors.Join(shown, err)
}

// conclude prints a report and writes its files.
func (o *Options) conclude(a *program.Invocation, r checkreport.Report) error {
	for _, text := range r.UnusedSuppressions {
		fmt.Fprintf(a.Err, "gpurun: warning: %s\n", text)
	}
	err := errors.Join(checkreport.Write(a.Out, r), o.writeFiles(r))
	if outcome.OnGitHub() {
		err = errors.Join(err, checkreport.Annotate(a.Err, r))
	}
	if err != nil {
		return err
	}
	if r.ExitCode != exit.OK {
		return &exit.Error{Code: r.ExitCode, Said: r.Summary()}
	}
	return nil
}

// writeFiles writes the files that were asked for.
func (o *Options) writeFiles(r checkreport.Report) error {
	var all []error
	for _, f := range []struct {
		path  string
		write func(io.Writer, checkreport.Report) error
	}{
		{o.JSON, checkreport.WriteJSON},
		{o.SARIF, checkreport.WriteSARIF},
		{o.JUnit, checkreport.WriteJUnit},
		{o.HTML, writePage},
	} {
		if f.path != "" {
			all = append(all, result.Replace(f.path, func(w io.Writer) error { return f.write(w, r) }))
		}
	}
	return errors.Join(all...)
}

func writePage(w io.Writer, r checkreport.Report) error {
	return webpage.Write(w, Title, checkreport.Page(Title, r))
}
