package nccl

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart/dl"
	"gpurun/cudart/dl/dltest"
)

func TestOpen(t *testing.T) {
	path := compile(t)
	l, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(Version{Major: 2, Minor: 28, Patch: 9}, l.Version()); diff != "" {
		t.Error(diff)
	}
	if l.Version().String() != "2.28.9" {
		t.Errorf("version reads %s", l.Version())
	}
	if l.Path() != path {
		t.Errorf("path %s, want %s", l.Path(), path)
	}
}

func TestOpenSearches(t *testing.T) {
	home := t.TempDir()
	t.Setenv("NCCL_HOME", home)
	moved := dltest.Install(t, filepath.Join(home, "lib"), compile(t))
	l, err := Open("")
	if err != nil {
		t.Fatal(err)
	}
	if l.Path() != moved {
		t.Errorf("found %s, want %s", l.Path(), moved)
	}
}

// Each way of being unusable has its own sentence, and all are a LoadError.
func TestUnusableLibraries(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "libnccl.so.2")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		path string
		want []string
	}{
		"missing": {
			"/nowhere/libnccl.so.2", []string{
				"NCCL: library not found: tried /nowhere/libnccl.so.2", "give --nccl-lib another FILE",
			},
		},
		"too old": {
			compile(t, "-DVERSION=2804"), []string{"is version 2.8.4, older than 2.10.0", "pip install -U nvidia-nccl-cu13"},
		},
		"empty":   {empty, []string{"loading " + empty + ": ", "cut short", "install it anew"}},
		"in part": {compile(t, "-DNO_REDUCE"), []string{"has no function ncclReduce", "install it anew", "--nccl-lib FILE"}},
		"foreign": {"libc.so.6", []string{"libc.so.6 has no function ncclGetVersion", "install it anew"}},
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

func TestDecodeVersion(t *testing.T) {
	for code, want := range map[int]string{
		2408:  "2.4.8",
		2804:  "2.8.4",
		20906: "2.9.6",
		21003: "2.10.3",
		22809: "2.28.9",
		23007: "2.30.7",
	} {
		if diff := cmp.Diff(want, decodeVersion(code).String()); diff != "" {
			t.Errorf("%d: %s", code, diff)
		}
	}
}

func TestSupports(t *testing.T) {
	old, recent := &Library{version: decodeVersion(22304), path: "libnccl.so.2"}, &Library{version: decodeVersion(22403)}
	for _, test := range []struct {
		lib  *Library
		t    DataType
		op   RedOp
		want string
	}{
		{old, BFloat16, Avg, ""},
		{old, Float8e4m3, Sum, "8-bit floats need NCCL 2.24.0, and libnccl.so.2 is 2.23.4"},
		{old, Float8e5m2, Max, "8-bit floats need NCCL 2.24.0"},
		{recent, Float8e5m2, Max, ""},
		{recent, 12, Sum, "no data type 12"},
		{recent, -1, Sum, "no data type -1"},
		{recent, Int8, 5, "no reduction 5"},
	} {
		err := test.lib.Supports(test.t, test.op)
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("NCCL %s, type %d, op %d: got %v, want %q", test.lib.version, test.t, test.op, err, test.want)
		}
	}
}
