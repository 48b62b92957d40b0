package kernelcode

import (
	"errors"
	"fmt"
	"path/filepath"

	"gpurun/kernels/kernelfile"
)

// read reads or compiles the code of a launch, and lists its kernels.
func (l *loader) read(code kernelfile.Code, call kernelfile.Call) (kernelfile.Module, []string, error) {
	if code.Module.Text != "" {
		return readModule(l.locate(code.Module.Fill(call)))
	}
	source := l.locate(code.Source.Fill(call))
	compiled, err := l.compile(code, source, call)
	if err != nil {
		return kernelfile.Module{}, nil, err
	}
	m, names, err := describe(source, compiled)
	if err != nil {
		err = l.errorAt(code.Compile.Line, "what the command wrote: %v", err)
	}
	return m, names, err
}

// compile runs the command of a launch, if that is allowed.
func (l *loader) compile(code kernelfile.Code, source string, call kernelfile.Call) ([]byte, error) {
	line := code.Compile.Line
	c, err := newCommand(code.Compile.Text, source, filepath.Dir(l.file.Path), func(word string) string {
		return kernelfile.Text{Text: word}.Fill(call)
	})
	switch {
	case err != nil:
		return nil, l.errorAt(line, "compile: %v", err)
	case !l.options.Compile:
		return nil, l.errorAt(line, "%s is compiled by a command, which runs only with --compile: %s", source,
			shown(c.writing("OUTPUT")))
	}
	compiled, err := compile(l.ctx, c, l.notify)
	var failed *commandError
	if errors.As(err, &failed) {
		err = l.errorAt(line, "%v", err)
	}
	return compiled, err
}

// locate makes a path one to open, and tells the user if it lies elsewhere.
func (l *loader) locate(path string) string {
	resolved, outside := resolve(l.file.Path, path)
	if outside && !l.shown[resolved] {
		l.shown[resolved] = true
		l.notify(fmt.Sprintf("%s uses %s, which lies outside of its folder", l.file.Path, resolved))
	}
	return resolved
}

func (l *loader) notify(text string) {
	if l.options.Notify != nil {
		l.options.Notify(text)
	}
}
