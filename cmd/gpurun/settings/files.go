package settings

import (
	"fmt"
	"path/filepath"

	"gpurun/cmd/gpurun/exit"
	"gpurun/worker/result"
)

// CheckFiles says which of the files to write, and of the further ones, could not be
// written, or would take the place of another.
func (c Config) CheckFiles(further ...string) error {
	names := map[string]string{} // by the file
	for _, name := range append([]string{c.OutputFile, c.JUnit, c.Prometheus}, further...) {
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
			return &exit.UsageError{Err: fmt.Errorf("%s and %s are one file, and two outputs are to be written there; name another for one of them", other, name)}
		}
		names[file] = name
	}
	return nil
}
