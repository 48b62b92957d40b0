// Package dl opens shared libraries at run time and calls their functions,
// without cgo and without anything but the library at hand.
package dl

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"unsafe"

	"github.com/ebitengine/purego"
)

// ErrNotFound says that none of the candidate libraries exists.
var ErrNotFound = errors.New("library not found")

// Library is an open shared library. It stays open until the process ends:
// drivers keep threads and exit handlers that do not survive being unmapped.
type Library struct {
	path   string
	handle uintptr
}

// Open opens the first candidate that the dynamic loader accepts. A candidate
// without a slash is looked for where the loader looks: LD_LIBRARY_PATH as it
// was when the process started, the loader's cache, the system's folders.
// Where no candidate exists, the error wraps [ErrNotFound]; where one exists
// and does not load, the error says why.
func Open(candidates ...string) (*Library, error) {
	return open(purego.RTLD_NOW|purego.RTLD_LOCAL, candidates)
}

// OpenGlobal is Open for a library whose own plugins look its functions up in
// the whole process.
func OpenGlobal(candidates ...string) (*Library, error) {
	return open(purego.RTLD_NOW|purego.RTLD_GLOBAL, candidates)
}

func open(mode int, candidates []string) (*Library, error) {
	// dlerror belongs to the thread that called dlopen.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var refusals []error
	for _, path := range candidates {
		handle, err := purego.Dlopen(path, mode)
		if err == nil {
			return &Library{path: path, handle: handle}, nil
		}
		if why := checkELF(path); why != nil {
			refusals = append(refusals, fmt.Errorf("loading %s: %w", path, why))
		} else if !isAbsent(path, err) {
			refusals = append(refusals, fmt.Errorf("loading %s: %w", path, err))
		}
	}
	if len(refusals) > 0 {
		return nil, errors.Join(refusals...)
	}
	return nil, fmt.Errorf("%w: tried %s", ErrNotFound, strings.Join(candidates, ", "))
}

// isAbsent tells a library that is not there from one that the loader found
// and refused. The loader only says so in words, which start with the file
// that is missing: the library itself, or something that it needs.
func isAbsent(path string, err error) bool {
	return strings.HasPrefix(err.Error(), path+": cannot open shared object file: No such file")
}

// Func is a C function of a library. The zero value is no function; see
// [Func.Found].
type Func struct {
	name string
	addr uintptr
}

// Func finds the first of the names that the library exports, newest version
// first as a rule.
func (l *Library) Func(names ...string) (Func, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	for _, name := range names {
		if addr, err := purego.Dlsym(l.handle, name); err == nil {
			return Func{name: name, addr: addr}, nil
		}
	}
	return Func{}, fmt.Errorf("%s has no function %s: is it older than gpurun needs?", l.path, strings.Join(names, " or "))
}

// Found reports whether f is a function.
func (f Func) Found() bool { return f.addr != 0 }

// Name is the exported name, such as "cuMemAlloc_v2".
func (f Func) Name() string { return f.name }

// Addr is the function's address.
func (f Func) Addr() uintptr { return f.addr }

// Call calls a function that takes only integers and pointers and returns an
// int. Variables whose addresses are converted to uintptr in the argument list
// stay alive and in place until it returns. Calling the zero Func panics.
//
//go:uintptrescapes
func (f Func) Call(args ...uintptr) int32 {
	result, _, _ := purego.SyscallN(f.addr, args...)
	return int32(result)
}

// Pointer calls a function that takes only integers and pointers and returns a
// pointer. It is as Call in everything else.
//
//go:uintptrescapes
func (f Func) Pointer(args ...uintptr) uintptr {
	result, _, _ := purego.SyscallN(f.addr, args...)
	return result
}

// String copies the C string at an address that a library returned. The null
// pointer makes an empty string.
func String(addr uintptr) string {
	if addr == 0 {
		return ""
	}
	text := *(*unsafe.Pointer)(unsafe.Pointer(&addr)) // the library's memory, not Go's
	var n int
	for *(*byte)(unsafe.Add(text, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(text), n))
}

// Text is a C string out of a fixed buffer: the bytes up to the first NUL, or
// all of them.
func Text(buffer []byte) string {
	text, _, _ := strings.Cut(string(buffer), "\x00")
	return text
}

// Bytes is a C string made of text, which ends at its first NUL.
func Bytes(text string) []byte {
	text, _, _ = strings.Cut(text, "\x00")
	return append([]byte(text), 0)
}
