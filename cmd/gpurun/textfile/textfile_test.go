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
	missing := filepath.Join(folder, "missing")
	for path, want := range map[string]string{
		file:        file + " has 4 bytes, more than the 3 that it may have: is it the right file?",
		folder:      folder + " is a folder: name a file",
		"/dev/zero": "/dev/zero is a device, a pipe or a socket: name a regular file",
		pipe:        pipe + " is a device, a pipe or a socket: name a regular file",
		missing:     "stat " + missing + ": no such file or directory",
	} {
		if _, err := Read(path, 3); err == nil || err.Error() != want {
			t.Errorf("%s: got  %v\nwant %s", path, err, want)
		}
	}
}
