package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"gpurun/cmd/gpurun/checkreport"
	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/outcome"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
	"gpurun/kernels/kernelfile"
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
	found, writing := p.options.conclude(a, r)
	if ctx.Err() != nil { // the signal decides the exit code
		return outcome.Ended(a, err, writing)
	}
	return outcome.Ended(a, found, errors.Join(err, writing))
}

// conclude prints a report and writes its files. It returns the error of the findings, which has the exit code, and
// that of writing.
func (o *Options) conclude(a *program.Invocation, r checkreport.Report) (found, writing error) {
	for _, text := range r.UnusedSuppressions {
		fmt.Fprintf(a.Err, "gpurun: warning: %s\n", text)
	}
	writing = errors.Join(checkreport.Write(a.Out, r), o.writeFiles(r))
	if outcome.OnGitHub() {
		writing = errors.Join(writing, checkreport.Annotate(a.Err, r))
	}
	if r.ExitCode != exit.OK {
		found = &exit.Error{Code: r.ExitCode, Said: r.Summary()}
	}
	return found, writing
}

// CheckFiles says which of the files to write could not be written, or would take the place of a file that is read:
// among the words are kernel files.
func (o *Options) CheckFiles(words []string) error {
	read := []string{o.Suppressions, o.Replay}
	for _, name := range slices.Concat(words, o.Algorithms) {
		if kernelfile.IsPath(name) {
			read = append(read, name)
		}
	}
	return o.checkFiles(read...)
}

func (o *Options) checkFiles(read ...string) error {
	return settings.CheckFiles([]string{o.JSON, o.SARIF, o.JUnit, o.HTML, o.Timeline}, read...)
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
