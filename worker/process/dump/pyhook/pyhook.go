// Package pyhook prepares Python programs so that gpurun can ask them for the stacks of their threads, without help of
// the program. A sitecustomize module, first in PYTHONPATH, registers faulthandler for [Signal]. Python then writes the
// stacks to a file, from the signal's handler in C: it needs no lock of the interpreter.
//
// Python started with -S, -I or -E does not read the module.
package pyhook

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Signal asks a prepared process for its stacks. It is SIGURG, because its default action is to be ignored: a process
// that executes another program just before the signal comes does not die. Python, PyTorch and NCCL do not use it:
// PyTorch has SIGUSR2 for its own traces, and Slurm's users have SIGUSR1.
const Signal = syscall.SIGURG

// StacksVariable has the path of the file to which a worker's Python processes write their stacks.
const StacksVariable = "_GPURUN_STACKS"

//go:embed sitecustomize.py
var module []byte

// Install writes the module to a folder, which is made.
func Install(folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return fmt.Errorf("preparing Python to show its stacks: %w", err)
	}
	if err := os.WriteFile(filepath.Join(folder, "sitecustomize.py"), module, 0o644); err != nil {
		return fmt.Errorf("preparing Python to show its stacks: %w", err)
	}
	return nil
}

// Environment returns the variables of a worker that writes its stacks to a file, given those of the agent.
// PYTHONFAULTHANDLER, which lets SIGABRT show stacks, stays as the user has set it.
func Environment(folder, stacks string, lookup func(string) (string, bool)) []string {
	path := folder
	if inherited, _ := lookup("PYTHONPATH"); inherited != "" {
		path += string(filepath.ListSeparator) + inherited
	}
	variables := []string{StacksVariable + "=" + stacks, "PYTHONPATH=" + path}
	if _, set := lookup("PYTHONFAULTHANDLER"); !set {
		variables = append(variables, "PYTHONFAULTHANDLER=1")
	}
	return variables
}

// IsPython reports whether a program is a Python interpreter, by the name of its file.
func IsPython(path string) bool {
	name := filepath.Base(path)
	return strings.HasPrefix(name, "python") || strings.HasPrefix(name, "pypy")
}
