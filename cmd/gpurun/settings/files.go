package settings

import (
	"fmt"
	"os"
	"path/filepath"

	"gpurun/cmd/gpurun/exit"
	"gpurun/worker/result"
)

// CheckFiles says which of the files to write, and of the further ones, could not be
// written, or would take the place of another.
func (c Config) CheckFiles(further ...string) error {
	names := map[string]string{} // by the file
	for _, name := range append([]string{c.OutputFile, c.JUnit, c.Prometheus, c.HTML}, further...) {
		if name == "" {
			continue
		}
		if err := result.CheckFile(name); err != nil {
			return &exit.UsageError{Err: err}
		}
		file, err := filepath.Abs(name)
		if err != nil {
			return err
		}
		if real, err := filepath.EvalSymlinks(file); err == nil { // else there is none yet
			file = real
		}
		if other, ok := names[file]; ok {
			return &exit.UsageError{Err: fmt.Errorf("%s and %s are the same file, and each output needs its own", other, name)}
		}
		names[file] = name
	}
	return nil
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
