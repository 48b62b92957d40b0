package settings

import (
	"fmt"
	"os"

	"gpurun/cmd/gpurun/exit"
	"gpurun/worker/result"
)

// CheckFiles says which of the files to write, and of the further ones, could not be
// written.
func (c Config) CheckFiles(further ...string) error {
	for _, file := range append([]string{c.OutputFile, c.JUnit, c.Prometheus}, further...) {
		if file == "" {
			continue
		}
		if err := result.CheckFile(file); err != nil {
			return &exit.UsageError{Err: err}
		}
	}
	return nil
}

// ReadFile reads a regular file of so many bytes at most.
func ReadFile(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("%s: it is no regular file of at most %d bytes", path, most)
	}
	return os.ReadFile(path)
}
