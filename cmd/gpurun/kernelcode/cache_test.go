package kernelcode

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The key changes with the command, the compiler, the source and what it includes, and with nothing else.
func TestCacheKey(t *testing.T) {
	folder := folderOf(t, map[string]string{
		"a.cu":  "#include \"b.cuh\"\n  #  include <deep.cuh>\n#include <nothere.h>\n",
		"b.cuh": "#include \"a.cu\"\n", "other.cuh": "",
		"compiler": "",
	})
	if err := os.Mkdir(filepath.Join(folder, "include"), 0o700); err != nil {
		t.Fatal(err)
	}
	at := func(name string) string { return filepath.Join(folder, name) }
	write := func(name, text string) {
		if err := os.WriteFile(at(name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write("include/deep.cuh", "")
	if err := os.Chmod(at("compiler"), 0o700); err != nil {
		t.Fatal(err)
	}
	words := []string{at("compiler"), "-I", at("include"), "{source}"}
	key := func() string {
		k, err := cacheKey(words, at("a.cu"))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	before := key()
	for _, c := range []struct {
		what    string
		change  func()
		differs bool
	}{
		{"nothing", func() {}, false},
		{"another file", func() { write("other.cuh", "x") }, false},
		{"an included file", func() { write("b.cuh", "x") }, true},
		{"a file of -I", func() { write("include/deep.cuh", "x") }, true},
		{"the source", func() { write("a.cu", "x") }, true},
		{"the compiler", func() {
			if err := os.Chtimes(at("compiler"), time.Now(), time.Now().Add(time.Hour)); err != nil {
				t.Fatal(err)
			}
		}, true},
		{"the command", func() { words = append(words, "-O1") }, true},
	} {
		c.change()
		after := key()
		if (after != before) != c.differs {
			t.Errorf("%s: the key changed: %t", c.what, after != before)
		}
		before = after
	}
	if _, err := cacheKey(words, at("nothere.cu")); err == nil {
		t.Error("a source that is not there has a key")
	}
}

func TestStore(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "a", "b")
	for _, text := range []string{"first", "second"} {
		if err := store(folder, "key", []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(folder, "key")); err != nil || string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
	}
	if files, err := os.ReadDir(folder); err != nil || len(files) != 1 {
		t.Errorf("%v, %v", files, err)
	}
}
