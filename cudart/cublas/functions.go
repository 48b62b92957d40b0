package cublas

import "gpurun/cudart/dl"

// functions are the entry points that this package calls. The first two are what
// every version has; statusString may be the zero Func.
type functions struct {
	getProperty, statusString                         dl.Func
	create, destroy, setStream, setWorkspace, setMode dl.Func
	gemmEx                                            dl.Func
}

// versionBindings are what tells the version and explains errors.
func (f *functions) versionBindings() []dl.Binding {
	return []dl.Binding{
		dl.Required(&f.getProperty, "cublasGetProperty"),
		dl.Optional(&f.statusString, "cublasGetStatusString"), // since 11.4
	}
}

// bindings are the rest.
func (f *functions) bindings() []dl.Binding {
	return []dl.Binding{
		dl.Required(&f.create, "cublasCreate_v2"),
		dl.Required(&f.destroy, "cublasDestroy_v2"),
		dl.Required(&f.setStream, "cublasSetStream_v2"),
		dl.Required(&f.setWorkspace, "cublasSetWorkspace_v2"),
		dl.Required(&f.setMode, "cublasSetMathMode"),
		dl.Required(&f.gemmEx, "cublasGemmEx"),
	}
}
