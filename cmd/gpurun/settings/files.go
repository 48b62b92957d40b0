package settings

import (
	"fmt"
	"os"
	"path/filepath"

	"gpurun/cmd/gpurun/exit"
	"gpurun/worker/result"
)

// Outputs are the files that the settings ask for, and the further ones.
func (c Config) Outputs(further ...string) []string {
	return append([]string{c.OutputFile, c.JUnit, c.Prometheus, c.HTML}, further...)
}

// CheckFiles says which of the files to write could not be written, or would take the place of another one, or of a
// file that is read. Empty names are left out. An error is a usage error.
func CheckFiles(outputs []string, inputs ...string) error {
	names := map[string]string{} // by the file
	for _, name := range outputs {
		if name == "" {
			continue
		}
		if err := result.CheckFile(name); err != nil {
			return &exit.UsageError{Err: err}
		}
		file := fileOf(name)
		if other, ok := names[file]; ok {
			return exit.Usagef("%s and %s are the same file, and each output needs its own", other, name)
		}
		names[file] = name
	}
	for _, name := range inputs {
		if output, ok := names[fileOf(name)]; ok && name != "" {
			return exit.Usagef("%s is read, and %s would take its place: name another file for the output", name, output)
		}
	}
	return nil
}

// fileOf is the file that a name leads to, through any symbolic links; a new file's own name.
func fileOf(name string) string {
	if file, err := filepath.Abs(name); err == nil {
		name = file
	}
	if file, err := filepath.EvalSymlinks(name); err == nil {
		return file
	}
	if folder, err := filepath.EvalSymlinks(filepath.Dir(name)); err == nil {
		return filepath.Join(folder, filepath.Base(name))
	}
	return name
}

// ReadFile reads a regular file of so many bytes at most.
func ReadFile(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	switch {
	case info.IsDir():
		return nil, fmt.Errorf("%s is a directory, not a file", path)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is a device, a pipe or a socket, not a regular file", path)
	case info.Size() > most:
		return nil, fmt.Errorf("%s has %d bytes, more than the limit of %d: is it the right file?", path, info.Size(), most)
	}
	return os.ReadFile(path)
}
