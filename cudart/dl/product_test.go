package dl

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart/dl/dltest"
)

func example() Product {
	return Product{
		Name: "Example", File: "libexample.so.1", Home: "EXAMPLE_HOME", Wheel: "nvidia/example/lib",
		System: []string{"/nowhere/lib"}, Pip: "nvidia-example", Flag: "--example-lib", Least: Version{2, 10, 0},
	}
}

// mkdir makes folders under root.
func mkdir(t *testing.T, root string, folders ...string) {
	t.Helper()
	for _, folder := range folders {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
}

// The user's own hint comes first, then the loader, then the Pythons from near
// to far, then the system.
func TestCandidates(t *testing.T) {
	root := t.TempDir()
	mkdir(t, root, "venv/lib/python3.12/site-packages", "conda/lib/python3.11/site-packages",
		"onpath/bin", "onpath/lib/python3.13/site-packages",
		"real/bin", "real/lib64/python3.13/site-packages", "real/lib/python3/dist-packages",
		"real/local/lib/python3.13/dist-packages",
		"user/.local/lib/python3.12/site-packages")
	python := filepath.Join(root, "real/bin/python3.13")
	if err := os.WriteFile(python, nil, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, link := range []string{"onpath/bin/python3", "onpath/bin/python"} {
		if err := os.Symlink(python, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	env := map[string]string{
		"EXAMPLE_HOME": root + "/home", "VIRTUAL_ENV": root + "/venv", "CONDA_PREFIX": root + "/conda",
		"PATH": "/nowhere/bin:" + root + "/onpath/bin", "HOME": root + "/user",
	}
	var got []string
	for _, file := range example().candidates(func(key string) string { return env[key] }) {
		if !strings.HasPrefix(file, "/opt/") { // whatever this machine has there
			got = append(got, strings.TrimPrefix(file, root))
		}
	}
	want := []string{
		"/home/lib/libexample.so.1",
		"/home/lib64/libexample.so.1",
		"libexample.so.1",
		"/venv/lib/python3.12/site-packages/nvidia/example/lib/libexample.so.1",
		"/conda/lib/python3.11/site-packages/nvidia/example/lib/libexample.so.1",
		"/onpath/lib/python3.13/site-packages/nvidia/example/lib/libexample.so.1",
		"/real/lib64/python3.13/site-packages/nvidia/example/lib/libexample.so.1",
		"/real/lib/python3/dist-packages/nvidia/example/lib/libexample.so.1",
		"/real/local/lib/python3.13/dist-packages/nvidia/example/lib/libexample.so.1",
		"/user/.local/lib/python3.12/site-packages/nvidia/example/lib/libexample.so.1",
		"/nowhere/lib/libexample.so.1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestSearchSaysWhereItLooked(t *testing.T) {
	for _, name := range []string{"VIRTUAL_ENV", "CONDA_PREFIX", "PATH", "HOME"} {
		t.Setenv(name, "")
	}
	t.Setenv("EXAMPLE_HOME", "/nowhere/home")
	_, err := example().Open("")
	var load *LoadError
	if !errors.As(err, &load) || !errors.Is(err, ErrNotFound) {
		t.Fatalf("got %v", err)
	}
	for _, want := range []string{
		"Example: looked for libexample.so.1 in /nowhere/home/lib, /nowhere/home/lib64, the loader's folders " +
			"(LD_LIBRARY_PATH, ldconfig), ",
		"/nowhere/lib; install it with pip install nvidia-example, or give --example-lib FILE",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}

// A name without a slash is a file of the working folder, as everywhere on a command
// line, and not one of the loader's.
func TestFileInWorkingFolder(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("libexample.so.1", []byte("not a library"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := example().Open("libexample.so.1"); err == nil || errors.Is(err, ErrNotFound) {
		t.Errorf("it was not opened: %v", err)
	}
}

func TestTooOld(t *testing.T) {
	for _, have := range []Version{{2, 10, 0}, {2, 10, 1}, {3, 0, 0}} {
		if err := example().check("lib", have); err != nil {
			t.Errorf("%s: %v", have, err)
		}
	}
	for _, have := range []Version{{2, 9, 9}, {1, 11, 0}} {
		err := example().check("/lib/it", have)
		var old *TooOldError
		if !errors.As(err, &old) || old.Have != have {
			t.Errorf("%s: %v", have, err)
			continue
		}
		want := "Example: /lib/it is version " + have.String() + ", older than 2.10.0, which gpurun needs; " +
			"install a newer one with pip install -U nvidia-example, or give --example-lib FILE"
		if diff := cmp.Diff(want, err.Error()); diff != "" {
			t.Error(diff)
		}
	}
}

// The loader calls a library for another processor absent, although it is
// there.
func TestUnfitLibraries(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	const machine = 18 // offset of e_machine in an ELF header
	foreign := append([]byte(nil), program...)
	foreign[machine], foreign[machine+1] = 243, 0 // EM_RISCV
	for name, test := range map[string]struct {
		content []byte
		want    string
	}{
		"another processor": {
			foreign, "it is for another processor, EM_RISCV, and gpurun runs on " + machines[runtime.GOARCH].String(),
		},
		"text":      {[]byte("GROUP ( libexample.so.1.2.3 )\n"), "it is not a shared library"},
		"cut short": {program[:40], "cut short"},
		"empty":     {nil, "cut short"},
	} {
		path := filepath.Join(t.TempDir(), "libexample.so.1")
		if err := os.WriteFile(path, test.content, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := example().Open(path)
		if err == nil || errors.Is(err, ErrNotFound) {
			t.Errorf("%s: got %v", name, err)
			continue
		}
		for _, want := range []string{"Example: loading " + path + ": ", test.want, "install it anew"} {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %q does not say %q", name, err, want)
			}
		}
	}
}

// A plugin finds the functions of a product that was opened for all to see, and
// not of another.
func TestGlobal(t *testing.T) {
	for _, global := range []bool{false, true} {
		// A name of its own, since what is global stays so.
		name := fmt.Sprintf("fortytwo_%x", rand.Uint64())
		library := build(t, "int "+name+"(void) { return 42; }")
		plugin := build(t, "int "+name+"(void); int ask(void) { return "+name+"(); }")
		p := example()
		p.Global = global
		if _, err := p.Open(library); err != nil {
			t.Fatal(err)
		}
		lib, err := Open(plugin)
		if (err == nil) != global {
			t.Fatalf("global %t: the plugin: %v", global, err)
		}
		if !global {
			continue
		}
		ask, err := lib.Func("ask")
		if err != nil {
			t.Fatal(err)
		}
		if got := ask.Call(); got != 42 {
			t.Errorf("got %d", got)
		}
	}
}

// build compiles a library and returns its path.
func build(t *testing.T, source string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "example.c")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	return dltest.Build(t, "libexample.so", file, "-Wno-implicit-function-declaration")
}

func TestLocate(t *testing.T) {
	f, err := libc(t).Func("getenv")
	if err != nil {
		t.Fatal(err)
	}
	path := Locate(f)
	if !filepath.IsAbs(path) || filepath.Base(path) != "libc.so.6" {
		t.Errorf("libc is at %q", path)
	}
	if got := Locate(Func{}); got != "" {
		t.Errorf("the zero Func is at %q", got)
	}
}

func TestPointerAndString(t *testing.T) {
	t.Setenv("GPURUN_TEST_DL", "a value")
	getenv, err := libc(t).Func("getenv")
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"GPURUN_TEST_DL": "a value", "GPURUN_TEST_NO_SUCH": ""} {
		text := Bytes(name)
		if got := String(getenv.Pointer(uintptr(unsafe.Pointer(&text[0])))); got != want {
			t.Errorf("getenv(%s): %q, want %q", name, got, want)
		}
	}
}
