// Package argv makes the argument vector of a command line: a program, a Python script, or a
// Python module.
package argv

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

// NotFound is a command or script that cannot be run: it is missing
// (fs.ErrNotExist, exec.ErrNotFound), or Err says why.
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

// Guess returns what to execute for the words of a command line: a first word that
// ends in .py is a [Script], any other a [Program]. It fails with a *NotFound.
func Guess(words []string) ([]string, error) {
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
		return nil, &NotFound{Name: words[0], Err: withAdvice(words[0], reason(err))}
	}
	return words, nil
}

// withAdvice adds to the reason why a program was not found what to do about it.
func withAdvice(name string, err error) error {
	info, statErr := os.Stat(name)
	isFile := statErr == nil && info.Mode().IsRegular()
	switch {
	case isFile && errors.Is(err, exec.ErrNotFound) && !strings.Contains(name, "/"):
		return fmt.Errorf("%w; for the file in this folder write ./%s", err, name)
	case isFile && errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w; chmod +x %s makes it executable", err, name)
	}
	return err
}

// StartError explains why the operating system does not start a program that was found,
// such as a script whose interpreter is missing. Other errors stay as they are.
func StartError(name string, err error) error {
	var fork *fs.PathError
	if !errors.As(err, &fork) || fork.Path != name {
		return err
	}
	switch {
	case errors.Is(err, syscall.ETXTBSY), errors.Is(err, fs.ErrPermission):
		return &NotFound{Name: name, Err: fork.Err}
	case errors.Is(err, syscall.ENOEXEC):
		return &NotFound{
			Name: name, Err: fmt.Errorf("%w; a script's first line must be #!INTERPRETER, as in #!/bin/sh", syscall.ENOEXEC),
		}
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

// Module returns what to execute for a Python module and its arguments: "python3 -u -m
// module args". Only Python can tell whether the module exists.
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

// reason is the error without the name of the file, which NotFound adds.
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
