// Package dltest builds and installs shared libraries that stand in for a vendor's in tests.
package dltest

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// Build compiles C into a library of that name in a folder of the test's own, and
// returns its path. The test is skipped where there is no C compiler, or fails if
// GPURUN_REQUIRE_CC is 1.
func Build(t testing.TB, name, source string, flags ...string) string {
	t.Helper()
	cc, err := exec.LookPath("cc")
	if err != nil {
		if os.Getenv("GPURUN_REQUIRE_CC") == "1" {
			t.Fatalf("GPURUN_REQUIRE_CC=1, but: %v", err)
		}
		t.Skip("no C compiler to build a stand-in library with")
	}
	path := filepath.Join(t.TempDir(), name)
	text, err := os.ReadFile(source)
	if err != nil {
		t.Fatal(err)
	}
	key := strings.Join(append([]string{source, string(text)}, flags...), "\x00")
	compiled.Lock()
	defer compiled.Unlock()
	if library, ok := compiled.libraries[key]; ok {
		if err := os.WriteFile(path, library, 0o700); err != nil {
			t.Fatal(err)
		}
		return path
	}
	args := append([]string{"-shared", "-fPIC", "-Wall", "-Werror", "-o", path, source}, flags...)
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		t.Fatalf("compiling %s: %v\n%s", source, err, out)
	}
	if compiled.libraries[key], err = os.ReadFile(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// compiled are the libraries that this process has built, by source and flags: the compiler takes a tenth of a second,
// and most tests of a package build the same. Each test loads a file of its own, so that no test sees another's state.
var compiled = struct {
	sync.Mutex
	libraries map[string][]byte
}{libraries: map[string][]byte{}}

// Install moves a library into a folder, which it makes, and returns its path there.
func Install(t testing.TB, folder, path string) (moved string) {
	t.Helper()
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	moved = filepath.Join(folder, filepath.Base(path))
	if err := os.Rename(path, moved); err != nil {
		t.Fatal(err)
	}
	return moved
}
