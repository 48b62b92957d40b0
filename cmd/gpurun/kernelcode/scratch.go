package kernelcode

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// scratch is a temporary folder. It is locked as long as its process lives, so that the next command can tell a
// folder whose process was killed, and remove it.
type scratch struct {
	path string
	lock *os.File
}

// scratchPattern are the names of the folders, below the folder for temporary files.
const scratchPattern = "gpurun_compile_*"

// newFor is longer than it takes to lock a folder after it was made.
const newFor = time.Minute

// newScratch makes a folder, and removes those that nobody uses any more.
func newScratch() (*scratch, error) {
	top, err := filepath.Abs(os.TempDir())
	if err != nil {
		return nil, err
	}
	removeAbandoned(top)
	path, err := os.MkdirTemp(top, scratchPattern)
	if err != nil {
		return nil, err
	}
	lock, err := lockFolder(path)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return &scratch{path, lock}, nil
}

// removeAbandoned removes folders of this user that are not locked. One that is new may not be locked yet. Errors are
// no reason to stop: the next command tries again.
func removeAbandoned(top string) {
	left, _ := filepath.Glob(filepath.Join(top, scratchPattern))
	for _, path := range left {
		info, err := os.Lstat(path)
		if err != nil || !info.IsDir() || time.Since(info.ModTime()) < newFor {
			continue
		}
		if stat, ok := info.Sys().(*syscall.Stat_t); !ok || int(stat.Uid) != os.Getuid() {
			continue
		}
		if lock, err := lockFolder(path); err == nil {
			_ = (&scratch{path, lock}).remove()
		}
	}
}

// lockFolder locks a folder, if nobody else has.
func lockFolder(path string) (*os.File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func (s *scratch) remove() error { return errors.Join(os.RemoveAll(s.path), s.lock.Close()) }
