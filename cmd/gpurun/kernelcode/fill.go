package kernelcode

import (
	"strconv"
	"strings"

	"gpurun/kernels/kernelfile"
)

// TEMPORARY: kernelfile will have these.

func fill(text string, call kernelfile.Call) string {
	return strings.NewReplacer("{rank}", strconv.Itoa(call.Rank), "{world}", strconv.Itoa(call.World), "{type}", call.Type,
		"{op}", call.Op).Replace(text)
}

func keyOf(code kernelfile.Code, call kernelfile.Call) string {
	if code.Module.Text != "" {
		return fill(code.Module.Text, call)
	}
	return fill(code.Source.Text, call) + "\n" + fill(code.Compile.Text, call)
}

func launchesOf(f *kernelfile.File) (all []*kernelfile.Step) {
	for i := range f.Steps {
		if f.Steps[i].Launch != nil {
			all = append(all, &f.Steps[i])
		}
	}
	if f.Reference != nil {
		all = append(all, f.Reference)
	}
	return all
}
