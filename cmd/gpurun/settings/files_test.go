package settings

import (
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"
)

// Two outputs do not go to one file, by whatever names.
func TestOutputsDoNotShareAFile(t *testing.T) {
	folder := t.TempDir()
	t.Chdir(folder)
	file := filepath.Join(folder, "r.json")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("r.json", "latest.json"); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		names [4]string // the further one last
		ok    bool
	}{
		{[4]string{"r.json", "r.xml", "r.prom", "r.svg"}, true},
		{[4]string{"r.json", "", "", ""}, true},
		{[4]string{"new", "./new", "", ""}, false},
		{[4]string{"", "r.json", file, ""}, false},
		{[4]string{"r.json", "", "", "latest.json"}, false},
		{[4]string{"", "", "new", "../" + filepath.Base(folder) + "/new"}, false},
	} {
		c := Config{OutputFile: tt.names[0], JUnit: tt.names[1], Prometheus: tt.names[2]}
		if err := CheckFiles(c.Outputs(tt.names[3])); (err == nil) != tt.ok {
			t.Errorf("%q: %v", tt.names, err)
		}
	}
	for input, ok := range map[string]bool{"": true, "other.json": true, file: false, "latest.json": false} {
		if err := CheckFiles([]string{"", "./r.json"}, "further.json", input); (err == nil) != ok {
			t.Errorf("%q is read: %v", input, err)
		}
	}
}

func TestRead(t *testing.T) {
	folder := t.TempDir()
	file, pipe := filepath.Join(folder, "file"), filepath.Join(folder, "pipe")
	if err := os.WriteFile(file, []byte("four"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if text, err := ReadFile(file, 4); err != nil || string(text) != "four" {
		t.Errorf("%q, %v", text, err)
	}
	missing := filepath.Join(folder, "missing")
	for path, want := range map[string]string{
		file:        file + " has 4 bytes, more than the limit of 3: is it the right file?",
		folder:      folder + " is a directory, not a file",
		"/dev/zero": "/dev/zero is a device, a pipe or a socket, not a regular file",
		pipe:        pipe + " is a device, a pipe or a socket, not a regular file",
		missing:     "stat " + missing + ": no such file or directory",
	} {
		if _, err := ReadFile(path, 3); err == nil || err.Error() != want {
			t.Errorf("%s: got  %v\nwant %s", path, err, want)
		}
	}
}
