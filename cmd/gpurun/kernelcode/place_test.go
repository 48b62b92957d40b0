package kernelcode

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

func TestPathsOutsideOfTheFolder(t *testing.T) {
	folder := folderOf(t, map[string]string{"code.ptx": "", "mine.toml": ""})
	for _, err := range []error{
		os.Symlink("/dev/null", filepath.Join(folder, "away.ptx")),
		os.Symlink("code.ptx", filepath.Join(folder, "near.ptx")),
		os.Symlink("/", filepath.Join(folder, "top")),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]bool{
		"code.ptx": false, "near.ptx": false, "./code.ptx": false, "nothere.ptx": false, "nothere/../code.ptx": false,
		"away.ptx": true, "../code.ptx": true, "/code.ptx": true, "top/etc/passwd": true, "a/../../code.ptx": true,
	} {
		if resolved, outside := resolve(filepath.Join(folder, "mine.toml"), path); outside != want {
			t.Errorf("%s is %s, outside %t", path, resolved, outside)
		}
	}
}

// A folder that nobody has locked is removed when the next one is made, if it is not new.
func TestAbandonedFoldersAreRemoved(t *testing.T) {
	top := t.TempDir()
	t.Setenv("TMPDIR", top)
	used, err := newScratch()
	if err != nil {
		t.Fatal(err)
	}
	fresh, old := filepath.Join(top, "gpurun_compile_1"), filepath.Join(top, "gpurun_compile_2")
	other := filepath.Join(top, "other_3")
	for _, path := range []string{fresh, old, other} {
		if err := os.Mkdir(path, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	then := time.Now().Add(-2 * newFor)
	for _, path := range []string{old, other, used.path} {
		if err := os.Chtimes(path, then, then); err != nil {
			t.Fatal(err)
		}
	}
	next, err := newScratch()
	if err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]bool{used.path: true, next.path: true, fresh: true, old: false, other: true} {
		if _, err := os.Stat(path); (err == nil) != want {
			t.Errorf("%s: %v, want it there: %t", path, err, want)
		}
	}
	if err := used.remove(); err != nil {
		t.Error(err)
	}
	if err := next.remove(); err != nil {
		t.Error(err)
	}
}
