// Package nvshmem calls NVIDIA's OpenSHMEM library, which users install
// themselves, through libnvshmem_host.so.3: its symmetric heap, and its
// collectives on streams.
//
// Names, numbers and layouts are those of NVSHMEM's host headers. A PE is what
// the rest of gpurun calls a rank. All calls come from one OS thread, with the
// device's primary context current, and only one job can be had per process.
//
// Where the library finds something fatally wrong, it does not return: it
// prints a line and calls exit(-1), and the process ends with code 255.
package nvshmem

import (
	"path/filepath"
	"unsafe"

	"gpurun/cudart/dl"
)

// Version is NVSHMEM's version.
type Version = dl.Version

// product says how NVSHMEM is found. 3.0 is the first release of
// libnvshmem_host.so.3, which keeps its ABI.
func product() dl.Product {
	return dl.Product{
		Name:  "NVSHMEM",
		File:  "libnvshmem_host.so.3",
		Home:  "NVSHMEM_HOME",
		Wheel: "nvidia/nvshmem/lib",
		System: []string{
			filepath.Join(dl.MultiarchFolder(), "nvshmem/13"), filepath.Join(dl.MultiarchFolder(), "nvshmem/12"),
		},
		Pip:    "nvidia-nvshmem-cu13",
		Flag:   "--nvshmem-lib",
		Global: true,
		Least:  Version{Major: 3},
	}
}

// Library is an open NVSHMEM.
type Library struct {
	path    string
	version Version
	fns     functions
	setup   *setup     // while initialized
	args    [6]uintptr // see enqueue
}

// Open opens the library at path. Where path is empty, it is searched for: in
// $NVSHMEM_HOME/lib, where the dynamic loader looks (LD_LIBRARY_PATH as it was
// when the process started), in the Python environments at hand, in Debian's
// folders. The error is a [*dl.LoadError]: the library is missing, broken, or
// older than 3.0.
func Open(path string) (*Library, error) {
	nvshmem := product()
	lib, err := nvshmem.Open(path)
	if err != nil {
		return nil, err
	}
	l := new(Library)
	version := []dl.Binding{dl.Required(&l.fns.vendorVersion, "nvshmemx_vendor_get_version_info")}
	l.path, l.version, err = nvshmem.Bind(lib, version, l.askVersion, l.fns.bindings())
	if err != nil {
		return nil, err
	}
	return l, nil
}

// Path is the file that was loaded.
func (l *Library) Path() string { return l.path }

// Version is NVSHMEM's own version, not that of the OpenSHMEM specification,
// which nvshmem_info_get_version tells.
func (l *Library) Version() Version { return l.version }

func (l *Library) askVersion() (Version, error) {
	var major, minor, patch int32
	l.fns.vendorVersion.Call(uintptr(unsafe.Pointer(&major)), uintptr(unsafe.Pointer(&minor)),
		uintptr(unsafe.Pointer(&patch)))
	return Version{Major: int(major), Minor: int(minor), Patch: int(patch)}, nil
}
