package subreaper

import (
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const timeout = 20 * time.Second

// orphan starts a process in a session of its own whose parent ends at once, and
// returns its process ID.
func orphan(t *testing.T, command string) int {
	t.Helper()
	out, err := exec.Command("/bin/sh", "-c", "setsid "+command+" >/dev/null 2>&1 & echo $!").Output()
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		t.Fatal(err)
	}
	return pid
}

func exists(pid int) bool { return syscall.Kill(pid, 0) == nil }

// Orphans become children of a subreaper, which reaps those that exit, and kills the others.
func TestOrphansAreReapedAndKilled(t *testing.T) {
	if err := Become(); err != nil {
		t.Fatal(err)
	}
	r := NewReaper()
	defer r.Close()
	short, long := orphan(t, "true"), orphan(t, "sleep 1000")
	for start := time.Now(); exists(short); time.Sleep(time.Millisecond) {
		select {
		case <-r.Exits():
			r.ChildExited()
		default:
		}
		r.Reap(time.Now(), nil)
		if time.Since(start) > timeout {
			t.Fatalf("process %d was not reaped", short)
		}
	}
	if !exists(long) {
		t.Fatalf("process %d has ended", long)
	}
	if err := KillDescendants(timeout); err != nil {
		t.Fatal(err)
	}
	if exists(long) {
		t.Errorf("process %d was not killed", long)
	}
}

func TestNilReaper(t *testing.T) {
	var r *Reaper
	if _, due := r.DueAt(); due || r.Exits() != nil {
		t.Error("a nil reaper has something to do")
	}
	r.Reap(time.Now(), nil)
}
