// Package orphans ends what is left of a job whose guard and agent were killed in the same instant: processes that
// workers had started, and the job's temporary folder.
//
// All processes of a job have the job's mark in their environment. The mark names the guard by its PID namespace,
// process ID and start time, so that it never fits another process. A process is an orphan if it has the mark of a
// guard that is gone, and if the agent is gone as well. The next gpurun of the same user ends it.
package orphans

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"gpurun/worker/process/procfs"
)

// Variable has the mark in the environment of all processes of a job, its guard alone excepted.
const Variable = "_GPURUN_JOB"

// folderPrefix begins the names of temporary folders that belong to a job; the mark and "_" follow.
const folderPrefix = "gpurun_job-"

// Mark is the mark of the job whose guard is this process.
func Mark() (string, error) {
	namespace, err := pidNamespace()
	if err != nil {
		return "", err
	}
	self, err := procfs.Read(os.Getpid())
	if err != nil {
		return "", err
	}
	return format(namespace, self), nil
}

// FolderPattern is the pattern for os.MkdirTemp of a folder that belongs to the job with a mark.
func FolderPattern(mark string) string { return folderPrefix + mark + "_" }

// pidNamespace is the inode of this process's PID namespace.
func pidNamespace() (uint64, error) {
	var stat unix.Stat_t
	if err := unix.Stat("/proc/self/ns/pid", &stat); err != nil {
		return 0, fmt.Errorf("finding the PID namespace: %w: %w", procfs.ErrNotMounted, err)
	}
	return stat.Ino, nil
}

func format(namespace uint64, guard procfs.Process) string {
	return fmt.Sprintf("%d-%d-%d", namespace, guard.PID, guard.Started.Milliseconds())
}

// Sweep ends orphans of this user's jobs, and removes their temporary folders in a folder. agentVariable is in an
// agent's environment alone.
func Sweep(folder, agentVariable string) error {
	namespace, err := pidNamespace()
	if err != nil {
		return err
	}
	const mostPasses = 10 // an orphan may fork while the others are killed
	for range mostPasses {
		jobs, err := marked(agentVariable)
		if err != nil {
			return err
		}
		left := false
		for mark, job := range jobs {
			if job.agent || !guardGone(namespace, mark) {
				continue
			}
			left = true
			for _, pid := range job.pids {
				_ = syscall.Kill(pid, syscall.SIGKILL) // the next pass finds it if that fails
			}
		}
		if !left {
			return removeFolders(folder, namespace, jobs)
		}
	}
	return errors.New("processes of a job whose gpurun was killed do not end")
}

// job is what there is of a job, but for its guard.
type job struct {
	pids  []int
	agent bool // one of them is the agent
}

// marked finds the marked processes of this user, by mark.
func marked(agentVariable string) (map[string]*job, error) {
	all, err := procfs.Processes()
	if err != nil {
		return nil, err
	}
	jobs := map[string]*job{}
	for _, p := range all {
		var stat unix.Stat_t
		path := fmt.Sprintf("/proc/%d", p.PID)
		if p.Zombie || unix.Stat(path, &stat) != nil || int(stat.Uid) != os.Geteuid() {
			continue
		}
		text, err := os.ReadFile(path + "/environ")
		if err != nil {
			continue // it has ended
		}
		var mark string
		agent := false
		for entry := range strings.SplitSeq(string(text), "\x00") {
			if value, ok := strings.CutPrefix(entry, Variable+"="); ok {
				mark = value
			}
			agent = agent || strings.HasPrefix(entry, agentVariable+"=")
		}
		if mark == "" {
			continue
		}
		if jobs[mark] == nil {
			jobs[mark] = &job{}
		}
		jobs[mark].pids, jobs[mark].agent = append(jobs[mark].pids, p.PID), jobs[mark].agent || agent
	}
	return jobs, nil
}

// guardGone reports whether a mark is of this PID namespace, and its guard has ended.
func guardGone(namespace uint64, mark string) bool {
	var of uint64
	var pid int
	var started int64
	if n, err := fmt.Sscanf(mark, "%d-%d-%d", &of, &pid, &started); n != 3 || err != nil || of != namespace {
		return false
	}
	guard, err := procfs.Read(pid)
	return err != nil || guard.Zombie || format(namespace, guard) != mark
}

// removeFolders removes the temporary folders of jobs of which nothing runs.
func removeFolders(folder string, namespace uint64, jobs map[string]*job) error {
	paths, err := filepath.Glob(filepath.Join(folder, folderPrefix+"*"))
	if err != nil {
		return err
	}
	var errs []error
	for _, path := range paths {
		mark, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(path), folderPrefix), "_")
		var stat unix.Stat_t
		own := unix.Lstat(path, &stat) == nil && int(stat.Uid) == os.Geteuid() && stat.Mode&unix.S_IFMT == unix.S_IFDIR
		if own && jobs[mark] == nil && guardGone(namespace, mark) {
			errs = append(errs, os.RemoveAll(path))
		}
	}
	return errors.Join(errs...)
}
