package dl

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gpurun/cudart/dl/dltest"
)

// two editions that have folders of their own alone.
func two(newer, older string) []Product {
	edition := func(file, folder string) Product {
		return Product{
			Name: "Example", File: file, Home: "EXAMPLE_HOME", Wheel: "nvidia/none/lib", System: []string{folder},
			Pip: "pip-" + file, Flag: "--example-lib",
		}
	}
	return []Product{edition("libexample.so.2", newer), edition("libexample.so.1", older)}
}

// folderWith is a folder with a library of that name.
func folderWith(t *testing.T, name string) string {
	t.Helper()
	source := filepath.Join(t.TempDir(), "source.c")
	if err := os.WriteFile(source, []byte("int version;"), 0o600); err != nil {
		t.Fatal(err)
	}
	return filepath.Dir(dltest.Build(t, name, source))
}

func TestOpenEdition(t *testing.T) {
	newer, older := folderWith(t, "libexample.so.2"), folderWith(t, "libexample.so.1")
	for name, tt := range map[string]struct {
		path         string
		newer, older string
		want         string // the edition
	}{
		"both":       {"", newer, older, "libexample.so.2"},
		"newer":      {"", newer, "/nowhere", "libexample.so.2"},
		"older":      {"", "/nowhere", older, "libexample.so.1"},
		"older file": {older + "/libexample.so.1", newer, older, "libexample.so.2"},
	} {
		lib, p, err := OpenEdition(tt.path, two(tt.newer, tt.older)...)
		if err != nil || p.File != tt.want {
			t.Errorf("%s: edition %s, %v", name, p.File, err)
			continue
		}
		if tt.path != "" && lib.path != tt.path {
			t.Errorf("%s: opened %s", name, lib.path)
		}
	}
}

// What was looked for, and where, is said of every edition.
func TestNoEdition(t *testing.T) {
	_, _, err := OpenEdition("", two("/nowhere/newer", "/nowhere/older")...)
	var load *LoadError
	if !errors.As(err, &load) || !errors.Is(err, ErrNotFound) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{
		"Example: library not found: looked for libexample.so.2 in the loader's folders",
		"/nowhere/newer; looked for libexample.so.1 in",
		"/nowhere/older; install it with pip install pip-libexample.so.2, or give --example-lib FILE",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

// An edition that is broken hides no older one: the user would not know which runs.
func TestBrokenEdition(t *testing.T) {
	broken := t.TempDir()
	if err := os.WriteFile(filepath.Join(broken, "libexample.so.2"), []byte("not a library"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, err := OpenEdition("", two(broken, folderWith(t, "libexample.so.1"))...)
	if err == nil || errors.Is(err, ErrNotFound) {
		t.Errorf("got %v", err)
	}
}
