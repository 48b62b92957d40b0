// Package kernelcode finds the code that kernel files name: it reads PTX, cubins, fatbins and folders of Triton's
// cache, compiles sources where that is allowed, and finds kernels by name or by demangled pattern. All of it goes into
// a [kernelfile.Bundle], so that ranks read no files.
package kernelcode

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os/exec"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/settings"
	"gpurun/kernels/kernelfile"
)

// maxFileBytes is plenty for a kernel file.
const maxFileBytes = 1 << 20

// Options say what to load, and what is allowed.
type Options struct {
	World int
	// Types and Ops are those of the calls; empty: those of the file.
	Types, Ops []string
	// Compile allows the commands of the file to run.
	Compile bool
	// Notify is told what the user should know: paths outside of the file's folder, before they are opened. It may be
	// nil.
	Notify func(string)
}

// Read reads a kernel file. Its text goes to Load.
func Read(path string) (f *kernelfile.File, text []byte, err error) {
	if text, err = settings.ReadFile(path, maxFileBytes); err != nil {
		return nil, nil, exit.Usagef("reading the kernel file: %w", err)
	}
	if f, err = kernelfile.Parse(path, text); err != nil {
		return nil, nil, &exit.UsageError{Err: err}
	}
	if err := checkCalls(f); err != nil {
		return nil, nil, &exit.UsageError{Err: err}
	}
	return f, text, nil
}

// Load reads all modules that launches of the file name, for all ranks, types and operations.
func Load(ctx context.Context, f *kernelfile.File, text []byte, o Options) (*kernelfile.Bundle, error) {
	l := &loader{
		ctx: ctx, file: f, options: o, shown: map[string]bool{}, missing: map[string]bool{},
		names:  map[string][]string{},
		bundle: &kernelfile.Bundle{Path: f.Path, Text: text, Modules: map[string]kernelfile.Module{}},
	}
	if err := l.accept(); err != nil {
		return nil, &exit.UsageError{Err: err}
	}
	for _, call := range l.calls() {
		for _, p := range f.Paths(call) {
			l.locate(p.Text)
		}
		for _, s := range launchesOf(f) {
			if err := l.launch(s, call); err != nil {
				return nil, err
			}
		}
	}
	return l.bundle, nil
}

// loader is one Load.
type loader struct {
	ctx     context.Context
	file    *kernelfile.File
	options Options
	bundle  *kernelfile.Bundle
	shown   map[string]bool     // paths that Notify was told
	missing map[string]bool     // keys of modules that are not there, and that only some ranks need
	names   map[string][]string // of the kernels in each module, by its key
}

// calls are one call for each rank, type and operation.
func (l *loader) calls() (all []kernelfile.Call) {
	types, ops := orElse(l.options.Types, l.file.Types), orElse(l.options.Ops, l.file.Ops)
	for _, d := range types {
		for _, op := range ops {
			for rank := range l.options.World {
				all = append(all, kernelfile.Call{Rank: rank, World: l.options.World, Type: d, Op: op})
			}
		}
	}
	return all
}

// launchesOf are the steps that launch something, and the reference.
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

// orElse is the first list that has anything. Without any there is one word, which names nothing.
func orElse(lists ...[]string) []string {
	for _, list := range lists {
		if len(list) > 0 {
			return list
		}
	}
	return []string{""}
}

// launch loads the module of a launch and finds its kernel.
func (l *loader) launch(s *kernelfile.Step, call kernelfile.Call) error {
	code := s.Launch.Code
	key := code.Key(call)
	m, ok := l.bundle.Modules[key]
	if !ok && l.missing[key] {
		return nil
	}
	if !ok {
		var err error
		switch m, l.names[key], err = l.read(code, call); {
		case errors.Is(err, fs.ErrNotExist) && s.When != nil:
			l.missing[key] = true // the step may be for other ranks; Bind refuses it otherwise
			return nil
		case err != nil:
			return l.blame(lineOf(code), err)
		}
	}
	if err := l.findEntry(code, call, l.names[key], &m); err != nil {
		return &exit.UsageError{Err: err}
	}
	l.bundle.Modules[key] = m
	return nil
}

// lineOf is the line that says where the code is.
func lineOf(code kernelfile.Code) int {
	if code.Module.Text != "" {
		return code.Module.Line
	}
	return code.Source.Line
}

func (l *loader) errorAt(line int, format string, args ...any) error {
	return &kernelfile.Error{Path: l.file.Path, Line: line, Message: fmt.Sprintf(format, args...)}
}

// blame makes a usage error of what went wrong at a line, unless the machine is to blame or the user ended it.
func (l *loader) blame(line int, err error) error {
	var placed *kernelfile.Error
	switch {
	case l.ctx.Err() != nil:
		return context.Cause(l.ctx)
	case errors.Is(err, exec.ErrNotFound):
		return &exit.EnvironmentError{Err: l.errorAt(line, "%v", err)}
	case errors.As(err, &placed):
	default:
		err = l.errorAt(line, "%v", err)
	}
	return &exit.UsageError{Err: err}
}

// findEntry checks that the module has the kernel, and notes which one a pattern stands for.
func (l *loader) findEntry(code kernelfile.Code, call kernelfile.Call, entries []string, m *kernelfile.Module) error {
	switch {
	case code.Entry.Text != "":
		if err := findEntry(code.Entry.Fill(call), entries); err != nil {
			return l.errorAt(code.Entry.Line, "%s: %v", m.Path, err)
		}
		return nil
	case code.Match.Text == "" && len(entries) == 1:
		return nil // Bind takes the only one
	case code.Match.Text == "":
		return l.errorAt(lineOf(code), "%s has %d kernels: write entry, the name of one: %s", m.Path, len(entries),
			few(entries))
	}
	pattern := code.Match.Fill(call)
	if m.Matches[pattern] != "" {
		return nil
	}
	entry, err := matchEntry(pattern, entries)
	if err != nil {
		return l.errorAt(code.Match.Line, "%s: %v", m.Path, err)
	}
	if m.Matches == nil {
		m.Matches = map[string]string{}
	}
	m.Matches[pattern] = entry
	return nil
}
