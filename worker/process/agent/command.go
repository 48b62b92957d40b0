package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
)

// NotFound is a command or script that cannot be run, since it is missing
// (fs.ErrNotExist, exec.ErrNotFound), or for another reason.
type NotFound struct {
	Name string
	Err  error
}

// Missing reports whether there is no such command.
func (e *NotFound) Missing() bool {
	return errors.Is(e.Err, fs.ErrNotExist) || errors.Is(e.Err, exec.ErrNotFound)
}

// Error names the command and the reason.
func (e *NotFound) Error() string { return fmt.Sprintf("cannot run %q: %v", e.Name, e.Err) }

// Unwrap returns the reason.
func (e *NotFound) Unwrap() error { return e.Err }

// Command returns what to execute for the words of a command line: a word that
// ends in .py is a [Script], any other a [Program]. It fails with a *NotFound.
func Command(words []string) ([]string, error) {
	if len(words) > 0 && strings.HasSuffix(words[0], ".py") {
		return Script(words)
	}
	return Program(words)
}

// Program returns what to execute for a program, found in PATH, and its
// arguments. It fails with a *NotFound.
func Program(words []string) ([]string, error) {
	if len(words) == 0 {
		return nil, errors.New("no command to run")
	}
	if _, err := exec.LookPath(words[0]); err != nil {
		return nil, &NotFound{Name: words[0], Err: advised(words[0], reason(err))}
	}
	return words, nil
}

// advised is why a program was not found, and what to do about it where that is easy.
func advised(name string, err error) error {
	info, missing := os.Stat(name)
	isFile := missing == nil && info.Mode().IsRegular()
	switch {
	case isFile && errors.Is(err, exec.ErrNotFound) && !strings.Contains(name, "/"):
		return fmt.Errorf("%w; for the file in this folder write ./%s", err, name)
	case isFile && errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; chmod +x %s makes it executable", err, name)
	}
	return err
}

// unstartable is why the operating system does not start a program that was found. Of a
// script, the first line names what reads it.
func unstartable(name string, err error) error {
	var fork *fs.PathError
	if !errors.As(err, &fork) || fork.Path != name {
		return err
	}
	switch {
	case errors.Is(err, syscall.ETXTBSY), errors.Is(err, fs.ErrPermission):
		return &NotFound{Name: name, Err: fork.Err}
	case errors.Is(err, syscall.ENOEXEC):
		return &NotFound{Name: name, Err: fmt.Errorf("%w; a script's first line must be #!INTERPRETER, as in #!/bin/sh", syscall.ENOEXEC)}
	case errors.Is(err, fs.ErrNotExist) && exists(name):
		return &NotFound{Name: name, Err: errors.New("the interpreter that its first line names, or its loader, is missing")}
	}
	return err
}

// Script returns what to execute for a Python script and its arguments: "python3
// -u script args", or the interpreter that PYTHON_EXEC names. It fails with a
// *NotFound.
func Script(words []string) ([]string, error) {
	if len(words) == 0 {
		return nil, errors.New("no script to run")
	}
	info, err := os.Stat(words[0])
	if err == nil && info.IsDir() && !exists(words[0]+"/__main__.py") {
		err = errors.New("it is a directory without __main__.py")
	}
	if err != nil {
		return nil, &NotFound{Name: words[0], Err: reason(err)}
	}
	return Program(slices.Concat([]string{python(), "-u"}, words))
}

// Module returns what to execute for a Python module and its arguments, likewise
// with -m. Whether there is such a module only Python can tell.
func Module(words []string) ([]string, error) {
	if len(words) == 0 {
		return nil, errors.New("no module to run")
	}
	return Program(slices.Concat([]string{python(), "-u", "-m"}, words))
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

func python() string {
	if interpreter := os.Getenv("PYTHON_EXEC"); interpreter != "" {
		return interpreter
	}
	return "python3"
}

// reason drops the name that the error repeats.
func reason(err error) error {
	var pathError *fs.PathError
	var execError *exec.Error
	switch {
	case errors.As(err, &pathError):
		return pathError.Err
	case errors.As(err, &execError):
		return execError.Err
	}
	return err
}
