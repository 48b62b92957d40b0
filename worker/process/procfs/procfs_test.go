package procfs

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestParseStat(t *testing.T) {
	const rest = " 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 4711 20\n" // fields 6 to 23
	const start = 47110 * time.Millisecond
	tests := map[string]*Process{
		"7 (sh) S 1 7" + rest:                    {PID: 7, Parent: 1, Group: 7, Session: 4, Started: start},
		"8 (a) b (c)) Z 7 6" + rest:              {PID: 8, Parent: 7, Group: 6, Session: 4, Zombie: true, Started: start},
		"9 (new\nline) R 1 2" + rest:             {PID: 9, Parent: 1, Group: 2, Session: 4, Started: start},
		"9 (a b) S 1 (2) c) S 1 2" + rest:        {PID: 9, Parent: 1, Group: 2, Session: 4, Started: start},
		"":                                       nil,
		"7 sh S 1 7" + rest:                      nil,
		"7 )sh( S 1 7" + rest:                    nil,
		"7 (sh)":                                 nil,
		"7 (sh) S 1 7 4 5":                       nil,
		"x (sh) S 1 7" + rest:                    nil,
		"7 (sh) S one 7" + rest:                  nil,
		"7 (sh) S 1 99999999999999999999" + rest: nil,
		"7 (sh) S 1 7" + strings.Replace(rest, "4711", "soon", 1): nil,
	}
	for text, want := range tests {
		got, err := parseStat(text)
		switch {
		case want == nil && err == nil:
			t.Errorf("%q: %+v, want an error", text, got)
		case want != nil && (err != nil || got != *want):
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("7 (sh) S 1 7 7 0 -1")
	f.Add("7 (a (b) c) Z 1 7 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 4711 0")
	f.Add(")(")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := parseStat(text); err == nil && !strings.Contains(text, ")") {
			t.Errorf("%q was read", text)
		}
	})
}

func TestReadThisProcess(t *testing.T) {
	p, err := Read(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	if p.PID != os.Getpid() || p.Parent != os.Getppid() || p.Group != syscall.Getpgrp() || p.Zombie || p.Started <= 0 {
		t.Errorf("%+v", p)
	}
	if _, err := Read(0); err == nil {
		t.Error("process 0 was found")
	}
}

func TestChildrenAreFoundBothWays(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	for name, list := range map[string]func() ([]int, error){"Children": Children, "childrenByParent": childrenByParent} {
		pids, err := list()
		if err != nil || !slices.Contains(pids, cmd.Process.Pid) {
			t.Errorf("%s: %v, %v, want %d in it", name, pids, err, cmd.Process.Pid)
		}
	}
	if GroupsAlive([]int{cmd.Process.Pid}) {
		t.Error("a process that leads no group was taken for one that does")
	}
	if !GroupsAlive([]int{syscall.Getpgrp()}) {
		t.Error("this test's own group was not found")
	}
}
