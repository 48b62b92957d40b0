package oomkill

import (
	"os"
	"path/filepath"
	"testing"
)

func TestCounter(t *testing.T) {
	tests := map[string]int{
		"low 0\nhigh 0\nmax 3\noom 2\noom_kill 5\noom_group_kill 0\n": 5,
		"oom_kill 0":               0,
		"oom_group_kill 7":         -1,
		"oom_kill many":            -1,
		"not_oom_kill 1\n":         -1,
		"":                         -1,
		"nr_free 1\noom_kill 12\n": 12,
	}
	for text, want := range tests {
		got, ok := parse(text)
		if ok != (want >= 0) || (ok && int(got) != want) {
			t.Errorf("%q: %d, %v", text, got, ok)
		}
	}
	file := filepath.Join(t.TempDir(), "memory.events")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("oom_kill 1\n")
	counter := Counter{file: file, count: 1}
	if counter.Increased() {
		t.Error("grown without a kill")
	}
	write("oom_kill 2\n")
	if !counter.Increased() {
		t.Error("not grown")
	}
}
