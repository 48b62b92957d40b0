package launch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"gpurun/cmd/gpurun/exit"
	"gpurun/worker/process/orphans"
)

// scratchVariable tells the agent the folder that the guard made for it. Workers
// do not see it.
const scratchVariable = "GPURUN_SCRATCH"

// lendScratch makes a temporary folder for the agent. The guard removes it in the
// end, and so does the agent: whichever is left when the other is killed. If both are, the next gpurun does.
func lendScratch() (remove func() error, err error) {
	mark, err := orphans.Mark()
	if err != nil {
		return nil, &exit.EnvironmentError{Err: err}
	}
	top, err := filepath.Abs(os.TempDir()) // workers may go elsewhere
	var folder string
	if err == nil {
		folder, err = os.MkdirTemp(top, orphans.FolderPattern(mark))
	}
	if err == nil {
		err = os.Setenv(scratchVariable, folder)
	}
	if err != nil {
		return nil, &exit.EnvironmentError{Err: fmt.Errorf("making a temporary folder: %w; TMPDIR names another place", err)}
	}
	return func() error { return os.RemoveAll(folder) }, nil
}

// takeScratch returns the folder that the guard has made.
func takeScratch() (string, error) {
	folder := os.Getenv(scratchVariable)
	if folder == "" {
		return "", errors.New(scratchVariable + " is not set: gpurun starts its agent itself")
	}
	return folder, os.Unsetenv(scratchVariable)
}
