package crash

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// The least that a guard and an agent need. Below, the Go runtime ends the process and no code of ours can say why.
const (
	leastFiles   = 32
	leastThreads = 24
	leastMemory  = 128 << 20 // bytes of address space: a thread has a stack of 8 MiB
	leastFile    = 1 << 20   // bytes of a file: scripts for Python, and logs; simulated memory is a file, too
)

// Check returns why gpurun cannot run under the limits of this process, or nil. The files come first: to read anything
// the Go runtime needs a few.
func Check() error {
	var files unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &files); err == nil && files.Cur < leastFiles {
		return fmt.Errorf("the limit of open files is %d (ulimit -n), and gpurun needs %d and about 10 for each rank: "+
			"raise it", files.Cur, leastFiles)
	}
	var size unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &size); err == nil && size.Cur < leastFile {
		return fmt.Errorf("a file may have %d KiB at most (ulimit -f), and gpurun needs %d: raise it", size.Cur>>10,
			leastFile>>10)
	}
	memory, err := unix.Mmap(-1, 0, leastMemory, unix.PROT_NONE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err == nil {
		err = unix.Munmap(memory)
	}
	if err != nil {
		return fmt.Errorf("less than %d MiB of address space are left: %s", leastMemory>>20, Limits())
	}
	if left := threadsLeft(); left < leastThreads {
		return fmt.Errorf("only %d more threads may be created, and gpurun needs %d and about 12 for each rank: %s",
			max(left, 0), leastThreads, Limits())
	}
	return nil
}

// Limits lists the limits of this process that are set, and says what to do about them.
func Limits() string {
	var all []string
	var limit unix.Rlimit
	note := func(resource int, text string, unit uint64) {
		if err := unix.Getrlimit(resource, &limit); err == nil && limit.Cur != unix.RLIM_INFINITY {
			all = append(all, fmt.Sprintf(text, limit.Cur/unit))
		}
	}
	note(unix.RLIMIT_NPROC, "ulimit -u is %d", 1)
	note(unix.RLIMIT_NOFILE, "ulimit -n is %d", 1)
	note(unix.RLIMIT_AS, "ulimit -v is %d", 1<<10)
	for _, group := range pidsCgroups() {
		if most, ok := readNumber(group + "/pids.max"); ok {
			all = append(all, fmt.Sprintf("pids.max of the cgroup is %d", most))
			break
		}
	}
	if len(all) == 0 {
		return "no limit of this process explains it: look at the limits of the machine"
	}
	return strings.Join(all, ", ") + ": raise what is too low, or start fewer ranks"
}

// WithLimits adds the limits to an error that one of them may explain.
func WithLimits(err error) error {
	for _, cause := range []error{unix.EAGAIN, unix.EMFILE, unix.ENOMEM} {
		if errors.Is(err, cause) {
			return fmt.Errorf("%w; %s", err, Limits())
		}
	}
	return err
}

// fewThreads is the largest limit of threads that is compared with their number: to count them takes a look at every
// process.
const fewThreads = 1024

// threadsLeft is how many more threads the limits allow.
func threadsLeft() int {
	left := math.MaxInt
	for _, group := range pidsCgroups() {
		most, limited := readNumber(group + "/pids.max")
		used, counted := readNumber(group + "/pids.current")
		if limited && counted {
			left = min(left, most-used)
		}
	}
	var limit unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NPROC, &limit)
	if err != nil || limit.Cur > fewThreads || os.Getuid() == 0 { // the limit does not hold for root
		return left
	}
	return min(left, int(limit.Cur)-threadsOfUser())
}

// threadsOfUser counts the threads of this process's user.
func threadsOfUser() int {
	tasks, err := filepath.Glob("/proc/[0-9]*/task/[0-9]*")
	if err != nil {
		return 0
	}
	n := 0
	var stat unix.Stat_t
	for _, task := range tasks {
		if unix.Stat(task, &stat) == nil && int(stat.Uid) == os.Getuid() {
			n++
		}
	}
	return n
}

// pidsCgroups are the folders of the control groups that may limit the number of threads of this process, version 1
// or 2, innermost first. Some may not be there.
func pidsCgroups() (all []string) {
	text, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		words := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, path
		if len(words) != 3 || words[1] != "" && !slices.Contains(strings.Split(words[1], ","), "pids") {
			continue
		}
		for folder := path.Clean("/" + words[2]); ; folder = path.Dir(folder) {
			all = append(all, path.Join("/sys/fs/cgroup", words[1], folder))
			if folder == "/" {
				break
			}
		}
	}
	return all
}

// readNumber reads a file with one number; false: there is none, or it says "max".
func readNumber(file string) (int, bool) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	return n, err == nil
}
