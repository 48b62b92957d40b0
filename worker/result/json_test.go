package result

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWriteFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "results.json")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := CheckFile(path); err != nil {
		t.Fatal(err)
	}
	if err := WriteFile(path, wrong()); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var got Report
	if err := json.Unmarshal(data, &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wrong(), got); diff != "" {
		t.Error(diff)
	}
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil {
		t.Fatal(err)
	}
	if len(entries) != 1 {
		t.Errorf("%d files are left, want only the result", len(entries))
	}
}

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

// TestTopLevelKeys pins the keys that readers of the JSON rely on.
func TestTopLevelKeys(t *testing.T) {
	var document map[string]json.RawMessage
	if err := json.Unmarshal(render(t, JSONFormat, passed()), &document); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{
		"schema", "version", "command", "world_size", "devices", "results", "passed", "exit_code",
	} {
		if _, ok := document[key]; !ok {
			t.Errorf("there is no key %q", key)
		}
	}
}
