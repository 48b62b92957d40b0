package cublas

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"gpurun/cudart/dl"
	"gpurun/cudart/dl/dltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// compile builds the stand-in for cuBLAS under a name and returns its path.
func compile(t testing.TB, name string, flags ...string) string {
	t.Helper()
	return dltest.Build(t, name, "testdata/fakecublas.c", flags...)
}

func open(t testing.TB) *Library {
	t.Helper()
	l, err := Open(compile(t, "libcublas.so.13"))
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestOpen(t *testing.T) {
	path := compile(t, "libcublas.so.13")
	l, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Version{Major: 13, Minor: 4, Patch: 1}, l.Version()); diff != "" {
		t.Error(diff)
	}
	if l.Path() != path {
		t.Errorf("path %s, want %s", l.Path(), path)
	}
}

// wheel puts a library where pip puts it, in a virtual environment.
func wheel(t *testing.T, venv, folder, path string) string {
	t.Helper()
	return dltest.Install(t, filepath.Join(venv, "lib/python3.12/site-packages", folder), path)
}

// That of CUDA 13 is preferred to that of CUDA 12, in whichever wheel they are.
func TestOpenSearches(t *testing.T) {
	venv := t.TempDir()
	t.Setenv("VIRTUAL_ENV", venv)
	for _, tt := range []struct{ folder, file, flag string }{
		{"nvidia/cublas/lib", "libcublas.so.12", "-DMAJOR=12"},
		{"nvidia/cu13/lib", "libcublas.so.13", "-DMAJOR=13"},
	} {
		want := wheel(t, venv, tt.folder, compile(t, tt.file, tt.flag))
		l, err := Open("")
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, l.Path()); diff != "" {
			t.Error(diff)
		}
	}
}

// libcublas needs libcublasLt, which the loader does not find beside it by itself.
func TestOpenLoadsLt(t *testing.T) {
	for name, given := range map[string]bool{"by search": false, "by path": true} {
		t.Run(name, func(t *testing.T) {
			lt := compile(t, "libcublasLt.so.13", "-Wl,-soname,lt-of-"+strings.ReplaceAll(name, " ", "-"))
			path := compile(t, "libcublas.so.13", lt, "-Wl,--no-as-needed", lt)
			venv := t.TempDir()
			t.Setenv("VIRTUAL_ENV", venv)
			wheel(t, venv, "nvidia/cu13/lib", lt)
			want := wheel(t, venv, "nvidia/cu13/lib", path)
			at := ""
			if given {
				at = want
			}
			l, err := Open(at)
			if err != nil {
				t.Fatal(err)
			}
			if l.Path() == "" {
				t.Error("it is nowhere")
			}
		})
	}
}

// Each way of being unusable has its own sentence, and all are a LoadError.
func TestUnusableLibraries(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "libcublas.so.13")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		path string
		want []string
	}{
		"missing": {
			"/nowhere/libcublas.so.13", []string{
				"cuBLAS: library not found: tried /nowhere/libcublas.so.13", "give --cublas-lib another FILE",
			},
		},
		"too old": {
			compile(t, "libcublas.so.11", "-DMAJOR=11"),
			[]string{"is version 11.4.1, older than 12.0.0", "pip install -U nvidia-cublas"},
		},
		"empty": {empty, []string{"loading " + empty + ": ", "cut short", "install it anew"}},
		"in part": {
			compile(t, "libcublas.so.13", "-DNO_GEMM", "-Wno-unused-function"),
			[]string{"has no function cublasGemmEx", "install it anew", "--cublas-lib FILE"},
		},
		"foreign": {"libc.so.6", []string{"libc.so.6 has no function cublasGetProperty", "install it anew"}},
	} {
		_, err := Open(test.path)
		dltest.Refused[*dl.LoadError](t, name, err, test.want...)
		if missing := errors.Is(err, dl.ErrNotFound); missing != (name == "missing") {
			t.Errorf("%s: errors.Is(ErrNotFound) is %t", name, missing)
		}
		var old *dl.TooOldError
		if errors.As(err, &old) != (name == "too old") {
			t.Errorf("%s: errors.As(TooOldError) is %t", name, old != nil)
		}
	}
}
