package textfile

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

func TestRead(t *testing.T) {
	folder := t.TempDir()
	file, pipe := filepath.Join(folder, "file"), filepath.Join(folder, "pipe")
	if err := os.WriteFile(file, []byte("four"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := Read(file, 4); err != nil || string(text) != "four" {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := Read(file, 3); err == nil {
		t.Error("a file of 4 bytes has no more than 3")
	}
	for _, path := range []string{folder, filepath.Join(folder, "missing"), "/dev/zero", pipe} {
		if _, err := Read(path, 1<<20); err == nil {
			t.Errorf("%s was read", path)
		}
	}
}
