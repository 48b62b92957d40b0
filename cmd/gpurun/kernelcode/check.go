package kernelcode

import (
	"fmt"
	"slices"

	"gpurun/kernels"
	"gpurun/kernels/kernelfile"
)

// checkCalls checks that the file of a collective says for which calls it is.
func checkCalls(f *kernelfile.File) error {
	c, ok := kernels.Find(f.Collective)
	switch {
	case !ok:
		return nil
	case c.Shape.Empty:
		return &kernelfile.Error{Path: f.Path, Message: "a kernel file cannot be for " + c.Name + ", which moves no data"}
	case len(f.Types) == 0:
		return &kernelfile.Error{Path: f.Path, Message: `the file does not say which elements it is for: write type = "float", ` +
			`or types = ["float", "half"]`}
	}
	return nil
}

// accept refuses numbers of ranks, types and operations that the file is not for.
func (l *loader) accept() error {
	f := l.file
	refuse := func(what, given string, has any) error {
		return l.errorAt(0, "the file is for %s %v, not %s", what, has, given)
	}
	if len(f.World) > 0 && !slices.Contains(f.World, l.options.World) {
		return refuse("ranks", fmt.Sprint(l.options.World), f.World)
	}
	for _, d := range l.options.Types {
		if len(f.Types) > 0 && !slices.Contains(f.Types, d) {
			return refuse("the types", d, f.Types)
		}
	}
	for _, op := range l.options.Ops {
		if len(f.Ops) > 0 && !slices.Contains(f.Ops, op) {
			return refuse("the operations", op, f.Ops)
		}
	}
	return nil
}
