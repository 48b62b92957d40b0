package dl

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
)

func TestOpenNamesEverythingItTried(t *testing.T) {
	_, err := Open("libno-such-one.so.1", "/nowhere/libno-such-two.so")
	if !errors.Is(err, ErrNotFound) {
		t.Fatalf("got %v", err)
	}
	if !strings.Contains(err.Error(), "tried libno-such-one.so.1, /nowhere/libno-such-two.so") {
		t.Errorf("got %v", err)
	}
}

func TestOpenTellsBrokenFromAbsent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "libbroken.so.1")
	if err := os.WriteFile(path, []byte("this is no library, whatever its name"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := Open("libno-such-one.so.1", path)
	if err == nil || errors.Is(err, ErrNotFound) || !strings.Contains(err.Error(), "loading "+path) {
		t.Errorf("got %v", err)
	}
}

// libc is the one library that every dynamically linked process has.
func libc(t *testing.T) *Library {
	t.Helper()
	l, err := Open("/nowhere/libc.so.6", "libc.so.6")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestCall(t *testing.T) {
	l := libc(t)
	if diff := cmp.Diff("libc.so.6", l.path); diff != "" {
		t.Error(diff)
	}
	atoi, err := l.Func("no_such_function", "atoi")
	if err != nil {
		t.Fatal(err)
	}
	if !atoi.Found() || atoi.Name() != "atoi" || atoi.Addr() == 0 {
		t.Errorf("found %+v", atoi)
	}
	text := Bytes("-42\x00junk")
	if diff := cmp.Diff(int32(-42), atoi.Call(uintptr(unsafe.Pointer(&text[0])))); diff != "" {
		t.Error(diff)
	}
}

func TestMissingFunctionIsNamed(t *testing.T) {
	f, err := libc(t).Func("cuNewThing_v2", "cuNewThing")
	if err == nil || !strings.Contains(err.Error(), "libc.so.6 has no function cuNewThing_v2 or cuNewThing") {
		t.Errorf("got %v", err)
	}
	if f.Found() {
		t.Errorf("found %+v", f)
	}
}

func TestBytes(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"cuInit", "cuInit\x00"}, {"cut\x00here", "cut\x00"}, {"", "\x00"},
	} {
		if diff := cmp.Diff(test.want, string(Bytes(test.in))); diff != "" {
			t.Errorf("Bytes(%q): %s", test.in, diff)
		}
	}
}

func TestText(t *testing.T) {
	for _, test := range []struct{ in, want string }{
		{"H200\x00\x00rest", "H200"}, {"full", "full"}, {"", ""}, {"\x00", ""},
	} {
		if diff := cmp.Diff(test.want, Text([]byte(test.in))); diff != "" {
			t.Errorf("Text(%q): %s", test.in, diff)
		}
	}
}

func BenchmarkCall(b *testing.B) {
	l, err := Open("libc.so.6")
	if err != nil {
		b.Fatal(err)
	}
	abs, err := l.Func("abs")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		abs.Call(7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0)
	}
}
