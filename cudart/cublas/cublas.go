// Package cublas multiplies matrices by NVIDIA's cuBLAS, which users install
// themselves, through libcublas.so.13 or libcublas.so.12.
//
// Names, numbers and signatures are those of cublas_api.h. The library works on the
// CUDA device of the calling OS thread, and must find the device's primary context
// current there.
package cublas

import (
	"path/filepath"
	"strings"
	"unsafe"

	"gpurun/cudart/dl"
)

// Version is cuBLAS's version.
type Version = dl.Version

// editions say how cuBLAS is found: the files of CUDA 13 and of CUDA 12, whose wheels
// have different folders. stem is libcublas, or libcublasLt, which lies beside it.
func editions(stem string) []dl.Product {
	edition := func(major, wheel, pip string) dl.Product {
		return dl.Product{
			Name:   "cuBLAS",
			File:   stem + ".so." + major,
			Home:   "CUDA_HOME",
			Wheel:  wheel,
			System: []string{"/usr/local/cuda/lib64", dl.MultiarchFolder(), "/usr/local/lib"},
			Pip:    pip,
			Flag:   "--cublas-lib",
			Least:  Version{Major: 12},
		}
	}
	return []dl.Product{
		edition("13", "nvidia/cu13/lib", "nvidia-cublas"),
		edition("12", "nvidia/cublas/lib", "nvidia-cublas-cu12"),
	}
}

// Library is an open cuBLAS. Its methods may be called from any goroutine.
type Library struct {
	path    string
	version Version
	fns     functions
}

// Open opens the library at path. Where path is empty, it is searched for: in
// $CUDA_HOME/lib and lib64, where the dynamic loader looks (LD_LIBRARY_PATH as it was when the
// process started), in the Python environments at hand, in the toolkit's and the
// distribution's folders. The error is a [*dl.LoadError]: the library is missing,
// broken, or older than 12.0.
func Open(path string) (*Library, error) {
	loadLt(path)
	lib, product, err := dl.OpenEdition(path, editions("libcublas")...)
	if err != nil {
		return nil, err
	}
	l := new(Library)
	l.path, l.version, err = product.Bind(lib, l.fns.versionBindings(), l.askVersion, l.fns.bindings())
	if err != nil {
		return nil, err
	}
	return l, nil
}

// loadLt loads libcublasLt from where libcublas is, which needs it and does not look
// beside itself in every package. Where that fails, the loader may know better; if it
// does not either, its own words name what is missing.
func loadLt(path string) {
	if path == "" {
		_, _, _ = dl.OpenEdition("", editions("libcublasLt")...)
		return
	}
	if folder, file := filepath.Split(path); folder != "" {
		_, _ = dl.Open(folder + strings.Replace(file, "libcublas.", "libcublasLt.", 1))
	}
}

// Path is the file that was loaded.
func (l *Library) Path() string { return l.path }

// Version is the library's own word, not the file's name.
func (l *Library) Version() Version { return l.version }

// askVersion asks for what library_types.h calls properties: 0 is the major version,
// 1 the minor one, 2 the patch level. It needs no device.
func (l *Library) askVersion() (Version, error) {
	var parts [3]int32
	f := l.fns.getProperty
	for i := range parts {
		if err := l.check(f, f.Call(uintptr(i), uintptr(unsafe.Pointer(&parts[i])))); err != nil {
			return Version{}, err
		}
	}
	return Version{Major: int(parts[0]), Minor: int(parts[1]), Patch: int(parts[2])}, nil
}
