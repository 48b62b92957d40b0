package kernelcode

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The end of the context ends a command and the processes that it started.
func TestCommandIsEndedAsAGroup(t *testing.T) {
	folder := t.TempDir()
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	ended := make(chan error, 1)
	go func() {
		ended <- execute(ctx, []string{"sh", "-c", "sleep 100 & echo $! > new; mv new child; wait"}, folder)
	}()
	var child int
	for child == 0 {
		text, err := os.ReadFile(filepath.Join(folder, "child"))
		if err != nil {
			time.Sleep(time.Millisecond)
			continue
		}
		if child, err = strconv.Atoi(strings.TrimSpace(string(text))); err != nil {
			t.Fatal(err)
		}
	}
	cancel(stopped)
	if err := <-ended; !errors.Is(err, stopped) {
		t.Errorf("%v, want %v", err, stopped)
	}
	for i := 0; alive(child); i++ {
		const patience = 1000
		if i == patience {
			t.Fatalf("process %d outlives the command", child)
		}
		time.Sleep(time.Millisecond)
	}
}

// alive reports whether a process runs. One that waits for its parent to reap it does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func TestCommandsThatFail(t *testing.T) {
	for _, c := range []struct {
		command, err string
		words        []string
	}{
		{"exit status", "exit status 3): sh -c 'echo no >&2; exit 3'\nno", []string{"sh", "-c", "echo no >&2; exit 3"}},
		{"success", "", []string{"true"}},
	} {
		err := execute(t.Context(), c.words, t.TempDir())
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: %v, want %q", c.command, err, c.err)
		}
	}
	long := ending(strings.Repeat("x", maxMessages) + "the end ")
	if !strings.HasPrefix(long, "...\n") || !strings.HasSuffix(long, "the end") || len(long) > maxMessages+4 {
		t.Errorf("%d bytes of a long message", len(long))
	}
}
