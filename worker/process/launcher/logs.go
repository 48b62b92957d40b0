package launcher

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Logs says where the workers' output goes, besides the console.
type Logs struct {
	// Dir is the folder for logs and error files. Without one they are in a new
	// temporary folder, which is left to the user.
	Dir string
	// Scratch is a temporary folder that is used instead of Dir. Run removes it at the end.
	Scratch string
	// Redirects are the streams that go to files instead of the console, and Tee
	// those that go to both. Tee wins. Either may be nil.
	Redirects, Tee func(localRank int) (stdout, stderr bool)
	// Shown are the workers that the console shows. It may be nil, for all.
	Shown func(localRank int) bool
	// StdoutFilters and StderrFilters are texts. Lines that contain one of them are copied
	// to one file for all workers.
	StdoutFilters, StderrFilters []string
	// Prefix is the template of every line's prefix, with ${role_name},
	// ${local_rank} and ${rank}. It may be empty.
	Prefix string
}

// DefaultPrefix is torchrun's template for lines of output.
const DefaultPrefix = "[${role_name}${local_rank}]:"

// prefix fills in the template.
func (l *Logs) prefix(role string, localRank, rank int) string {
	return strings.NewReplacer(
		"${role_name}", role, "${local_rank}", strconv.Itoa(localRank), "${rank}", strconv.Itoa(rank),
	).Replace(l.Prefix)
}

// folders are a job's folders:
//
//	ROOT/attempt_0/0/stdout.log, stderr.log and error.json of local rank 0
//	ROOT/attempt_0/filtered_stdout.log
//	ROOT/attempt_1/... after a restart
type folders struct {
	root    string
	scratch string // the folder of root if Run removes it; else empty
}

// attemptFolder is the folder of one attempt.
type attemptFolder string

func (f attemptFolder) worker(localRank int, file string) string {
	return filepath.Join(string(f), strconv.Itoa(localRank), file)
}

func (f attemptFolder) errorFile(localRank int) string { return f.worker(localRank, "error.json") }

// create makes the folder of a job, DIR/RUNID_RANDOM.
func (l *Logs) create(runID string) (*folders, error) {
	f := &folders{scratch: l.Scratch}
	top, err := l.top()
	if err == nil {
		// MkdirTemp replaces the last * by a random number.
		f.root, err = os.MkdirTemp(top, strings.ReplaceAll(runID, string(filepath.Separator), "_")+"_*")
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("making the folder for logs: %w", err), f.remove())
	}
	return f, nil
}

// top is the folder that has those of jobs. The path is absolute, because workers may
// change their working directory.
func (l *Logs) top() (string, error) {
	switch {
	case l.Scratch != "":
		return l.Scratch, os.MkdirAll(l.Scratch, 0o700)
	case l.Dir != "":
		if err := os.MkdirAll(l.Dir, 0o755); err != nil {
			return "", err
		}
		return filepath.Abs(l.Dir)
	}
	top, err := filepath.Abs(os.TempDir())
	if err != nil {
		return "", err
	}
	return os.MkdirTemp(top, "gpurun_")
}

// remove removes the temporary folder.
func (f *folders) remove() error {
	if f.scratch == "" {
		return nil
	}
	if err := os.RemoveAll(f.scratch); err != nil {
		return fmt.Errorf("removing the workers' temporary files: %w", err)
	}
	return nil
}

// kept is the folder of an attempt if it is left to the user, and else empty.
func (f *folders) kept(attempt attemptFolder) string {
	if f.scratch != "" {
		return ""
	}
	return string(attempt)
}

// attempt makes the folders of an attempt, for workers from a local rank on.
func (f *folders) attempt(restart, first, workers int) (attemptFolder, error) {
	folder := attemptFolder(filepath.Join(f.root, "attempt_"+strconv.Itoa(restart)))
	for worker := range workers {
		if err := os.MkdirAll(folder.worker(first+worker, ""), 0o755); err != nil {
			return "", fmt.Errorf("making the folder for logs: %w", err)
		}
	}
	return folder, nil
}
