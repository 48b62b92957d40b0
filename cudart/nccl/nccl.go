// Package nccl calls NVIDIA's collective communication library, which users
// install themselves, through libnccl.so.2.
//
// Names, numbers and signatures are those of nccl.h. The library works on the
// CUDA device of the calling OS thread, and must find the device's primary
// context current there.
package nccl

import (
	"unsafe"

	"github.com/ebitengine/purego"

	"gpurun/cudart/dl"
)

// Version is NCCL's version.
type Version = dl.Version

// product says how NCCL is found. 2.10 is the first release with bfloat16 and
// with avg, so that all types and operations but the 8-bit floats are there.
func product() dl.Product {
	return dl.Product{
		Name:   "NCCL",
		File:   "libnccl.so.2",
		Home:   "NCCL_HOME",
		Wheel:  "nvidia/nccl/lib",
		System: []string{dl.MultiarchFolder(), "/usr/local/lib", "/usr/local/cuda/lib64"},
		Pip:    "nvidia-nccl-cu13",
		Flag:   "--nccl-lib",
		Least:  Version{Major: 2, Minor: 10},
	}
}

// Library is an open NCCL. Its methods may be called from any goroutine.
type Library struct {
	path    string
	version Version
	fns     functions
}

// Open opens the library at path. Where path is empty, it is searched for: in
// $NCCL_HOME/lib, where the dynamic loader looks (LD_LIBRARY_PATH as it was when
// the process started), in the Python environments at hand, in the
// distribution's folders. The error is a [*dl.LoadError]: the library is
// missing, broken, or older than 2.10.
func Open(path string) (*Library, error) {
	nccl := product()
	lib, err := nccl.Open(path)
	if err != nil {
		return nil, err
	}
	l := new(Library)
	l.path, l.version, err = nccl.Bind(lib, l.fns.versionBindings(), l.askVersion, l.fns.bindings())
	if err != nil {
		return nil, err
	}
	purego.RegisterFunc(&l.fns.initByValue, l.fns.initRank.Addr())
	return l, nil
}

// Path is the file that was loaded.
func (l *Library) Path() string { return l.path }

// Version is the library's own word, not the file's name.
func (l *Library) Version() Version { return l.version }

func (l *Library) askVersion() (Version, error) {
	var code int32
	f := l.fns.getVersion
	if err := l.check(f, f.Call(uintptr(unsafe.Pointer(&code)))); err != nil {
		return Version{}, err
	}
	return decodeVersion(int(code)), nil
}

// decodeVersion undoes NCCL_VERSION, which counts in thousands up to 2.8 and in
// ten thousands since: 2804 is 2.8.4, 22809 is 2.28.9.
func decodeVersion(code int) Version {
	if code < 10000 {
		return Version{Major: code / 1000, Minor: code / 100 % 10, Patch: code % 100}
	}
	return Version{Major: code / 10000, Minor: code / 100 % 100, Patch: code % 100}
}

// UniqueID is an ncclUniqueId: how the ranks of one communicator find each
// other. One rank makes it and tells it to the others.
type UniqueID [128]byte

// NewUniqueID makes the id of a communicator to be. It opens a socket that
// this process has to keep until all ranks are initialized.
func (l *Library) NewUniqueID() (UniqueID, error) {
	var id UniqueID
	f := l.fns.getUniqueID
	return id, l.check(f, f.Call(uintptr(unsafe.Pointer(&id))))
}
