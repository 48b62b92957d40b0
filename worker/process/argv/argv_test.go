package argv

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestGuess(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, mode fs.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	script, tool, plain := file("train.py", 0o644), file("tool", 0o755), file("plain", 0o644)
	file("python3", 0o755)
	t.Setenv("PATH", dir)

	tests := map[string]struct {
		interpreter string
		words, want []string
		err         error
	}{
		"program":         {words: []string{tool, "-x"}, want: []string{tool, "-x"}},
		"program in PATH": {words: []string{"tool"}, want: []string{"tool"}},
		"script":          {words: []string{script, "--lr", "1"}, want: []string{"python3", "-u", script, "--lr", "1"}},
		"own interpreter": {interpreter: tool, words: []string{script}, want: []string{tool, "-u", script}},
		"no program":      {words: []string{"nothing"}, err: exec.ErrNotFound},
		"no such path":    {words: []string{"./nothing"}, err: fs.ErrNotExist},
		"not executable":  {words: []string{plain}, err: fs.ErrPermission},
		"no script":       {words: []string{"nothing.py"}, err: fs.ErrNotExist},
		"no interpreter":  {interpreter: "snake", words: []string{script}, err: exec.ErrNotFound},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PYTHON_EXEC", test.interpreter)
			got, err := Guess(test.words)
			var notFound *NotFound
			if test.err != nil && (!errors.As(err, &notFound) || !errors.Is(err, test.err)) {
				t.Fatalf("got %v, want %v", err, test.err)
			}
			if test.err == nil && err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := Guess(nil); err == nil {
		t.Error("no words: no error")
	}
	if _, err := Guess([]string{dir + "/x.py"}); err == nil || strings.Count(err.Error(), "x.py") != 1 {
		t.Errorf("the name stands there once: %v", err)
	}
}
