package collect

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"gpurun/worker/process/dump"
)

// mostThreads is how many threads of a process are read.
const mostThreads = 1024

// threads reads what /proc says about the threads of a process, the main thread first. withoutKernel says why kernel
// stacks cannot be read; it is empty if they can.
func threads(pid int) (all []dump.Thread, withoutKernel string) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
	if err != nil {
		return nil, "" // it has ended
	}
	for _, entry := range entries[:min(len(entries), mostThreads)] {
		tid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		folder := fmt.Sprintf("/proc/%d/task/%d/", pid, tid)
		t := dump.Thread{TID: tid, Name: strings.TrimSpace(read(folder + "comm")), State: state(read(folder + "stat"))}
		if t.State == "" {
			continue
		}
		if wait := read(folder + "wchan"); wait != "0" {
			t.Wait = wait
		}
		stack, err := os.ReadFile(folder + "stack")
		if errors.Is(err, fs.ErrPermission) {
			withoutKernel = "kernel stacks: /proc/PID/stack needs CAP_SYS_ADMIN"
		}
		t.Kernel = kernelStack(string(stack))
		all = append(all, t)
		if tid == pid {
			all = slices.Insert(all[:len(all)-1], 0, t)
		}
	}
	return all, withoutKernel
}

// read reads a small file of /proc; it is empty if the thread has ended.
func read(path string) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(text)
}

// state is the letter behind the command's name in /proc/PID/stat.
func state(stat string) string {
	_, rest, _ := cutLast(stat, ") ")
	letter, _, _ := strings.Cut(rest, " ")
	return letter
}

// cutLast is strings.Cut at the last separator.
func cutLast(text, separator string) (before, after string, found bool) {
	at := strings.LastIndex(text, separator)
	if at < 0 {
		return text, "", false
	}
	return text[:at], text[at+len(separator):], true
}

// kernelStack reads lines such as "[<0>] futex_wait+0x6b/0x110". A thread that runs has no more than an empty one.
func kernelStack(text string) (functions []string) {
	for line := range strings.Lines(text) {
		_, place, found := strings.Cut(strings.TrimSpace(line), "] ")
		name, _, _ := strings.Cut(place, "+")
		if found && name != "" && name != "0xffffffffffffffff" {
			functions = append(functions, name)
		}
	}
	return functions
}
