package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// A new file gets its mode from the umask. A replaced file keeps its mode.
func TestPermissionsOfResults(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o027))
	folder := t.TempDir()
	secret, fresh := filepath.Join(folder, "secret.json"), filepath.Join(folder, "fresh.json")
	if err := os.WriteFile(secret, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{secret: 0o600, fresh: 0o640} {
		if err := WriteFile(path, wrong()); err != nil {
			t.Fatal(err)
		}
		if info, err := os.Stat(path); err != nil || info.Mode() != want {
			t.Errorf("%s: %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
}

func TestCheckFileRefuses(t *testing.T) {
	directory := t.TempDir()
	for _, path := range []string{
		directory, filepath.Join(directory, "missing", "x.json"), "/dev/null", "/proc/x.json", "-",
	} {
		if err := CheckFile(path); err == nil {
			t.Errorf("CheckFile(%q) has no objection", path)
		}
	}
}

// What a rename would destroy, or take from those who write to it as well, is neither said to be writable nor replaced:
// devices, pipes, and files by the name of a descriptor.
func TestOnlyFilesAreReplaced(t *testing.T) {
	folder := t.TempDir()
	pipe, link := filepath.Join(folder, "pipe"), filepath.Join(folder, "log")
	open, err := os.Create(filepath.Join(folder, "open"))
	if err != nil {
		t.Fatal(err)
	}
	defer open.Close()
	descriptor := fmt.Sprintf("/dev/fd/%d", open.Fd())
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600), os.Symlink(descriptor, link)); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, descriptor, fmt.Sprintf("/proc/self/fd/../fd/%d", open.Fd()), link} {
		before, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if CheckFile(path) == nil || WriteFile(path, wrong()) == nil {
			t.Errorf("%s is written", path)
		}
		if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) {
			t.Errorf("%s is replaced: %v", path, err)
		}
	}
	if entries, err := os.ReadDir(folder); err != nil || len(entries) != 3 {
		t.Errorf("%d files are left, want 3: %v", len(entries), err)
	}
}

// A symbolic link stays a link, and its target is written. A link to a missing file is refused.
func TestResultsBehindALink(t *testing.T) {
	folder := t.TempDir()
	file, link, nowhere := filepath.Join(folder, "run1", "r.json"), filepath.Join(folder, "latest.json"),
		filepath.Join(folder, "nowhere.json")
	err := errors.Join(
		os.Mkdir(filepath.Dir(file), 0o700), os.WriteFile(file, []byte("old"), 0o600),
		os.Symlink(filepath.Join("run1", "r.json"), link), os.Symlink("gone.json", nowhere),
	)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(CheckFile(link), WriteFile(link, wrong())); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); err != nil || to != filepath.Join("run1", "r.json") {
		t.Errorf("the link names %s: %v", to, err)
	}
	if text, err := os.ReadFile(file); err != nil || !json.Valid(text) {
		t.Errorf("the file behind it has %.20q: %v", text, err)
	}
	if CheckFile(nowhere) == nil || WriteFile(nowhere, wrong()) == nil {
		t.Error("a link to nothing is written")
	}
}
