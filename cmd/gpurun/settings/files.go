package settings

import (
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
