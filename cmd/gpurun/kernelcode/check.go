package kernelcode

import (
	"slices"
	"strconv"

	"gpurun/cmd/gpurun/suggest"
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
		return &kernelfile.Error{Path: f.Path, Message: `the file does not say which elements it is for: ` +
			`write type = "float", or types = ["float", "half"]`}
	}
	return nil
}

// accept refuses numbers of ranks, types and operations that the file is not for.
func (l *loader) accept() error {
	f, o := l.file, l.options
	var worlds []string
	for _, n := range f.World {
		worlds = append(worlds, strconv.Itoa(n))
	}
	for _, c := range []struct {
		format     string
		asked, has []string
	}{
		{"%s is for %s ranks, not %s", []string{strconv.Itoa(o.World)}, worlds},
		{"%s is for elements of type %s, not %s", o.Types, f.Types},
		{"%s computes %s, not %s", o.Ops, f.Ops},
	} {
		for _, word := range c.asked {
			if len(c.has) > 0 && !slices.Contains(c.has, word) {
				return l.errorAt(0, c.format, f.Name, suggest.OrList(c.has), word)
			}
		}
	}
	return nil
}
