package result

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Replace writes a temporary file in the folder of path, and renames it to path, so that
// a reader never sees half a document. Of a symbolic link, the file that it names is replaced.
// It is an error if path names something else than a regular file or a new one, which the
// rename would destroy: see [CheckFile].
func Replace(path string, write func(io.Writer) error) (err error) {
	if path, err = replaceable(path); err != nil {
		return err
	}
	f, err := createBeside(path)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			os.Remove(f.Name())
			err = fmt.Errorf("writing results to %s: %w", path, err)
		}
	}()
	if err := write(f); err != nil {
		f.Close()
		return err
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// WriteText writes a text as [Replace] does. A file that is not regular, such as a pipe, gets the text itself.
func WriteText(path string, text []byte) error {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(path, text, 0o644)
	}
	return Replace(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// CheckFile returns the error that Replace would fail with, before there are results to
// write. It refuses "-", and names the option that writes to standard output.
func CheckFile(path string) error {
	if path == "-" {
		return errors.New("cannot write results to -: they go to files, and standard output has what --output says; " +
			"a file of that name is ./-")
	}
	path, err := replaceable(path)
	if err != nil {
		return err
	}
	f, err := createBeside(path)
	if err != nil {
		return err
	}
	f.Close()
	return os.Remove(f.Name())
}

// replaceable returns the file that a path names, through any symbolic links: a regular file or a new one. The file
// behind a descriptor, such as /dev/stdout, is none, even if it is regular: others write to it, too.
func replaceable(path string) (string, error) {
	if isDescriptor(path) {
		return "", fmt.Errorf("cannot write results to %s: it is a file that is open already, such as standard output; "+
			"name a file of its own", path)
	}
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() {
		return "", fmt.Errorf("cannot write results to %s: it is no regular file", path)
	}
	if _, err := os.Lstat(path); err != nil {
		return path, nil // a new file
	}
	file, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", fmt.Errorf("cannot write results to %s: it is a symbolic link to a file that does not exist (%w); "+
			"remove the link, or name another file", path, err)
	}
	return file, nil
}

// isDescriptor reports whether a path leads through a process's open files: see proc_pid_fd(5).
func isDescriptor(path string) bool {
	const mostLinks = 40 // as in path_resolution(7)
	for range mostLinks {
		folder, err := filepath.Abs(filepath.Dir(path))
		if err != nil {
			return false
		}
		if folder, err = filepath.EvalSymlinks(folder); err != nil {
			return false
		}
		for _, of := range []string{"/proc/*/fd", "/proc/*/task/*/fd"} {
			if is, err := filepath.Match(of, folder); err == nil && is {
				return true
			}
		}
		name := filepath.Join(folder, filepath.Base(path))
		if path, err = os.Readlink(name); err != nil {
			return false
		}
		if !filepath.IsAbs(path) {
			path = filepath.Join(folder, path)
		}
	}
	return false
}

// createBeside makes a temporary file in path's directory. It has the permissions of the file
// at path, or those of a new file where there is none.
func createBeside(path string) (*os.File, error) {
	name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%x", filepath.Base(path), rand.Uint64()))
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, cannotWrite(path, err)
	}
	old, err := os.Stat(path)
	if err != nil {
		return f, nil // path does not exist yet
	}
	if err := f.Chmod(old.Mode().Perm()); err != nil {
		f.Close()
		os.Remove(name)
		return nil, cannotWrite(path, err)
	}
	return f, nil
}

// cannotWrite names path instead of the temporary file that err names.
func cannotWrite(path string, err error) error {
	var of *fs.PathError
	if errors.As(err, &of) {
		err = of.Err
	}
	return fmt.Errorf("cannot write results to %s: %w", path, err)
}
