package page

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"gpurun/worker/process/dump"
)

// libraryFolders hold packages that are not the program's own.
var libraryFolders = []string{"/site-packages/", "/dist-packages/"}

// shortFile leaves out where a library is installed, which differs between machines.
func shortFile(file string) string {
	for _, folder := range libraryFolders {
		if i := strings.LastIndex(file, folder); i >= 0 {
			return file[i+len(folder):]
		}
	}
	if i := strings.LastIndex(file, "/lib/python3"); i >= 0 {
		if _, module, ok := strings.Cut(file[i+len("/lib/"):], "/"); ok {
			return module
		}
	}
	return file
}

// isLibrary reports whether a file belongs to Python, PyTorch or another installed package.
func isLibrary(file string) bool {
	return strings.HasPrefix(file, "<frozen ") || shortFile(file) != file
}

// isTorch reports whether a file is of a part of PyTorch, as "torch/distributed/".
func isTorch(file, part string) bool {
	return strings.HasPrefix(file, part) || strings.Contains(file, "/"+part)
}

// at is a frame's place as "train.py:214".
func at(f dump.Frame) string {
	if f.Line == 0 {
		return path.Base(f.File)
	}
	return fmt.Sprintf("%s:%d", path.Base(f.File), f.Line)
}

// caller is the innermost frame of the program's own, from the frame with this index outwards. Without one it is the
// frame with this index.
func caller(stack []dump.Frame, from int) string {
	for _, f := range stack[from:] {
		if !isLibrary(f.File) {
			return at(f)
		}
	}
	if from < len(stack) {
		return at(stack[from])
	}
	return ""
}

// folded lists functions that are between the program and what it called, by the end of their file.
var folded = map[string][]string{
	"threading.py":                     {"run", "_bootstrap", "_bootstrap_inner"},
	"runpy.py":                         nil,
	"torch/distributed/run.py":         nil,
	"torch/distributed/c10d_logger.py": {"wrapper"},
	"torch/utils/_contextlib.py":       {"decorate_context"},
	"torch/autograd/grad_mode.py":      {"decorate_context"},
	"torch/nn/modules/module.py":       {"_call_impl", "_wrapped_call_impl"},
}

// fold leaves out frames of the interpreter, of launchers and of decorators, unless nothing else is there.
func fold(stack []dump.Frame) []dump.Frame {
	kept := slices.DeleteFunc(slices.Clone(stack), func(f dump.Frame) bool {
		functions, ok := folded[shortFile(f.File)]
		return strings.HasPrefix(f.File, "<frozen ") || ok && (functions == nil || slices.Contains(functions, f.Function))
	})
	if len(kept) == 0 {
		return stack
	}
	return kept
}
