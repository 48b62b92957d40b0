package driver

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"
	"unsafe"

	"go.uber.org/goleak"

	"gpurun/cudart"
	"gpurun/cudart/dl"
	"gpurun/cudart/dl/dltest"
)

func TestMain(m *testing.M) {
	if os.Getenv(roleVariable) != "" {
		os.Exit(playRole(os.Getenv(roleVariable)))
	}
	goleak.VerifyTestMain(m)
}

// fake is the stand-in for libcuda, seen from the test's side.
type fake struct {
	t    *testing.T
	path string
	lib  *dl.Library
}

// newFake compiles and loads a stand-in of this test's own. Flags such as
// -DWITHOUT_VMM make it an older driver.
func newFake(t *testing.T, flags ...string) *fake {
	t.Helper()
	f := &fake{t: t, path: compile(t, "testdata/fakecuda.c", "libcuda.so.1", flags...)}
	var err error
	if f.lib, err = dl.Open(f.path); err != nil {
		t.Fatal(err)
	}
	f.call("fake_reset")
	return f
}

func compile(t *testing.T, source, name string, flags ...string) string {
	t.Helper()
	return dltest.Build(t, name, source, append(flags, "-Wno-unused-function")...)
}

//go:uintptrescapes
func (f *fake) call(name string, args ...uintptr) {
	f.t.Helper()
	fn, err := f.lib.Func(name)
	if err != nil {
		f.t.Fatal(err)
	}
	fn.Call(args...)
}

// failNext makes the next call of a function return code.
func (f *fake) failNext(name string, code cudart.Result) {
	text := dl.Bytes(name)
	f.call("fake_fail", uintptr(unsafe.Pointer(&text[0])), uintptr(code))
}

// failIn makes the nth call from now on of a GPU return code.
func (f *fake) failIn(ordinal, n int, code cudart.Result) {
	f.call("fake_fail_in", uintptr(70+ordinal), uintptr(n), uintptr(code))
}

// failOn makes the next call of a function on a GPU return code.
func (f *fake) failOn(ordinal int, name string, code cudart.Result) {
	text := dl.Bytes(name)
	f.call("fake_fail_on", uintptr(70+ordinal), uintptr(unsafe.Pointer(&text[0])), uintptr(code))
}

// failed is the call that failIn made fail, or empty.
func (f *fake) failed() string {
	text := make([]byte, 64)
	f.call("fake_failed", uintptr(unsafe.Pointer(&text[0])), uintptr(len(text)))
	return dl.Text(text)
}

// attribute sets a device attribute of both GPUs.
func (f *fake) attribute(number, value int) {
	for ordinal := range 2 {
		f.attributeOf(ordinal, number, value)
	}
}

func (f *fake) attributeOf(ordinal, number, value int) {
	f.call("fake_attribute", uintptr(70+ordinal), uintptr(number), uintptr(value))
}

// busy makes the next n queries of a stream find it busy.
func (f *fake) busy(n int) { f.call("fake_busy", uintptr(n)) }

// calls returns what was called since the last time, a line each.
func (f *fake) calls() []string {
	text := make([]byte, 1<<16)
	f.call("fake_calls", uintptr(unsafe.Pointer(&text[0])), uintptr(len(text)))
	if dl.Text(text) == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(dl.Text(text), "\n"), "\n")
}

// live names what was made and not released, such as "contexts=1 stream=2".
func (f *fake) live() string {
	text := make([]byte, 1<<10)
	f.call("fake_live", uintptr(unsafe.Pointer(&text[0])), uintptr(len(text)))
	return dl.Text(text)
}

func (f *fake) backend() *Backend { return &Backend{cudaPaths: []string{f.path}} }

// open opens GPU 1 of the stand-in and forgets the calls that it took.
func (f *fake) open() *device {
	f.t.Helper()
	d, err := f.backend().Open(1)
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() {
		if err := d.Close(); err != nil {
			f.t.Error(err)
		}
		if live := f.live(); live != "contexts=0" {
			f.t.Errorf("left after Close: %s", live)
		}
	})
	f.calls()
	return d.(*device)
}

func (f *fake) stream(d *device) *stream {
	f.t.Helper()
	s, err := d.NewStream()
	if err != nil {
		f.t.Fatal(err)
	}
	f.calls()
	return s.(*stream)
}

// must is for steps that are not what the test is about.
func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func fillBytes(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		fmt.Fprintf(&b, "%c", 'a'+i%26)
	}
	return b.Bytes()
}
