package cublas

import (
	"errors"

	"gpurun/cudart/dl"
)

// functions are the entry points that this package calls. The first two are what
// every version has; statusString may be the zero Func.
type functions struct {
	getProperty, statusString                         dl.Func
	create, destroy, setStream, setWorkspace, setMode dl.Func
	gemmEx                                            dl.Func
}

// bind finds what tells the version and explains errors.
func (f *functions) bind(lib *dl.Library) (err error) {
	f.statusString, _ = lib.Func("cublasGetStatusString") // since 11.4
	f.getProperty, err = lib.Func("cublasGetProperty")
	return err
}

// bindRest finds the rest, once the version is known to do.
func (f *functions) bindRest(lib *dl.Library) error {
	var missing []error
	for _, e := range []struct {
		to   *dl.Func
		name string
	}{
		{&f.create, "cublasCreate_v2"},
		{&f.destroy, "cublasDestroy_v2"},
		{&f.setStream, "cublasSetStream_v2"},
		{&f.setWorkspace, "cublasSetWorkspace_v2"},
		{&f.setMode, "cublasSetMathMode"},
		{&f.gemmEx, "cublasGemmEx"},
	} {
		var err error
		if *e.to, err = lib.Func(e.name); err != nil {
			missing = append(missing, err)
		}
	}
	return errors.Join(missing...)
}
