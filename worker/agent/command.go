package agent

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"strings"
)

// NotFound is a command or script that cannot be run. Err tells whether it is
// missing (fs.ErrNotExist, exec.ErrNotFound) or not executable
// (fs.ErrPermission).
type NotFound struct {
	Name string
	Err  error
}

// Error names the command and the reason.
func (e *NotFound) Error() string { return fmt.Sprintf("cannot run %q: %v", e.Name, e.Err) }

// Unwrap returns the reason.
func (e *NotFound) Unwrap() error { return e.Err }

// Command returns what to execute for the words of a command line: a word that
// ends in .py is a script, which runs as "python3 -u script args", or with the
// interpreter that PYTHON_EXEC names; any other is a program, found in PATH. It
// fails with a *NotFound.
func Command(words []string) ([]string, error) {
	if len(words) == 0 {
		return nil, errors.New("no command to run")
	}
	argv := words
	if strings.HasSuffix(words[0], ".py") {
		info, err := os.Stat(words[0])
		if err == nil && info.IsDir() {
			err = errors.New("it is a directory")
		}
		if err != nil {
			return nil, &NotFound{Name: words[0], Err: reason(err)}
		}
		argv = append([]string{python(), "-u"}, words...)
	}
	if _, err := exec.LookPath(argv[0]); err != nil {
		return nil, &NotFound{Name: argv[0], Err: reason(err)}
	}
	return argv, nil
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
