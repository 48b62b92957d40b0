// Package oomkill tells whether the kernel has killed processes for lack of memory.
package oomkill

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Counter is the kernel's count of processes killed for lack of memory: that
// of this process's cgroup where it has one (cgroup v2, memory.events), else
// the machine's (/proc/vmstat).
type Counter struct {
	file  string // empty when neither can be read
	count uint64
}

const vmstat = "/proc/vmstat"

// NewCounter reads the count.
func NewCounter() Counter {
	files := []string{vmstat}
	if group, ok := ownCgroup(); ok {
		files = []string{filepath.Join("/sys/fs/cgroup", group, "memory.events"), vmstat}
	}
	for _, file := range files {
		if count, ok := read(file); ok {
			return Counter{file: file, count: count}
		}
	}
	return Counter{}
}

// Increased reports whether the kernel has killed a process for lack of memory since NewCounter.
func (c Counter) Increased() bool {
	if c.file == "" {
		return false
	}
	count, ok := read(c.file)
	return ok && count > c.count
}

// OfMachine reports whether the count is the machine's: a kill may have hit another job.
func (c Counter) OfMachine() bool { return c.file == vmstat }

func read(file string) (uint64, bool) {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0, false
	}
	return parse(string(data))
}

// parse finds the line "oom_kill N".
func parse(text string) (uint64, bool) {
	for line := range strings.Lines(text) {
		if value, ok := strings.CutPrefix(line, "oom_kill "); ok {
			count, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64)
			return count, err == nil
		}
	}
	return 0, false
}

// ownCgroup returns this process's path in the cgroup v2 hierarchy.
func ownCgroup() (string, bool) {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", false
	}
	for line := range strings.Lines(string(data)) {
		if group, ok := strings.CutPrefix(line, "0::"); ok {
			return strings.TrimSpace(group), true
		}
	}
	return "", false
}
