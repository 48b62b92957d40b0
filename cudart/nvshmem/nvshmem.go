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
	"errors"
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
		Name:   "NVSHMEM",
		File:   "libnvshmem_host.so.3",
		Home:   "NVSHMEM_HOME",
		Wheel:  "nvidia/nvshmem/lib",
		System: []string{filepath.Join(dl.MultiarchFolder(), "nvshmem/13"), filepath.Join(dl.MultiarchFolder(), "nvshmem/12")},
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
	if l.fns.vendorVersion, err = lib.Func("nvshmemx_vendor_get_version_info"); err != nil {
		return nil, nvshmem.Broken(err)
	}
	l.path = dl.Locate(l.fns.vendorVersion)
	l.version = l.askVersion()
	if err := nvshmem.Check(l.path, l.version); err != nil {
		return nil, err
	}
	if err := l.fns.bind(lib); err != nil {
		return nil, nvshmem.Broken(err)
	}
	return l, nil
}

// Path is the file that was loaded.
func (l *Library) Path() string { return l.path }

// Version is NVSHMEM's own version, not that of the OpenSHMEM specification,
// which nvshmem_info_get_version tells.
func (l *Library) Version() Version { return l.version }

func (l *Library) askVersion() Version {
	var major, minor, patch int32
	l.fns.vendorVersion.Call(uintptr(unsafe.Pointer(&major)), uintptr(unsafe.Pointer(&minor)), uintptr(unsafe.Pointer(&patch)))
	return Version{Major: int(major), Minor: int(minor), Patch: int(patch)}
}

// functions are the entry points that this package calls.
type functions struct {
	vendorVersion, getUniqueID, setUniqueIDArgs, initAttr, initStatus dl.Func
	finalize, myPE, nPEs, malloc, free, ptr, barrier                  dl.Func

	multicastPtr dl.Func // the zero Func where the version has none

	// The collectives on streams are one function for each type, and each
	// reduction. What NVSHMEM does not have is the zero Func.
	reduce, reduceScatter         [types][ops]dl.Func
	fcollect, broadcast, allToAll [types]dl.Func
}

func (f *functions) bind(lib *dl.Library) error {
	f.multicastPtr, _ = lib.Func("nvshmemx_mc_ptr")
	f.bindCollectives(lib)
	var missing []error
	for _, entry := range []struct {
		to   *dl.Func
		name string
	}{
		{&f.getUniqueID, "nvshmemx_get_uniqueid"},
		{&f.setUniqueIDArgs, "nvshmemx_set_attr_uniqueid_args"},
		{&f.initAttr, "nvshmemx_hostlib_init_attr"},
		{&f.initStatus, "nvshmemx_init_status"},
		{&f.finalize, "nvshmemx_hostlib_finalize"},
		{&f.myPE, "nvshmem_my_pe"},
		{&f.nPEs, "nvshmem_n_pes"},
		{&f.malloc, "nvshmem_malloc"},
		{&f.free, "nvshmem_free"},
		{&f.ptr, "nvshmem_ptr"},
		{&f.barrier, "nvshmemx_barrier_on_stream"},
	} {
		var err error
		*entry.to, err = lib.Func(entry.name)
		missing = append(missing, err)
	}
	return errors.Join(missing...)
}

// bindCollectives looks for every function that a name can be made for: what
// is there is what NVSHMEM supports.
func (f *functions) bindCollectives(lib *dl.Library) {
	find := func(name string) dl.Func {
		found, _ := lib.Func(name)
		return found
	}
	for t := range DataType(types) {
		for op := range RedOp(ops) {
			f.reduce[t][op] = find("nvshmemx_" + t.String() + "_" + op.String() + "_reduce_on_stream")
			f.reduceScatter[t][op] = find("nvshmemx_" + t.String() + "_" + op.String() + "_reducescatter_on_stream")
		}
		f.fcollect[t] = find("nvshmemx_" + t.carrier().String() + "_fcollect_on_stream")
		f.broadcast[t] = find("nvshmemx_" + t.carrier().String() + "_broadcast_on_stream")
		f.allToAll[t] = find("nvshmemx_" + t.carrier().String() + "_alltoall_on_stream")
	}
}
