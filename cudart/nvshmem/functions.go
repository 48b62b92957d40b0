package nvshmem

import "gpurun/cudart/dl"

// functions are the entry points that this package calls.
type functions struct {
	vendorVersion, getUniqueID, setUniqueIDArgs, initAttr, initStatus dl.Func
	finalize, myPE, nPEs, malloc, free, ptr, barrier                  dl.Func

	multicastPtr dl.Func // some versions have none

	// The collectives on streams are one function for each type, and each
	// reduction. What NVSHMEM does not have is the zero Func.
	reduce, reduceScatter         [types][ops]dl.Func
	fcollect, broadcast, allToAll [types]dl.Func
}

// bindings are all but vendorVersion.
func (f *functions) bindings() []dl.Binding {
	bindings := []dl.Binding{
		dl.Required(&f.getUniqueID, "nvshmemx_get_uniqueid"),
		dl.Required(&f.setUniqueIDArgs, "nvshmemx_set_attr_uniqueid_args"),
		dl.Required(&f.initAttr, "nvshmemx_hostlib_init_attr"),
		dl.Required(&f.initStatus, "nvshmemx_init_status"),
		dl.Required(&f.finalize, "nvshmemx_hostlib_finalize"),
		dl.Required(&f.myPE, "nvshmem_my_pe"),
		dl.Required(&f.nPEs, "nvshmem_n_pes"),
		dl.Required(&f.malloc, "nvshmem_malloc"),
		dl.Required(&f.free, "nvshmem_free"),
		dl.Required(&f.ptr, "nvshmem_ptr"),
		dl.Required(&f.barrier, "nvshmemx_barrier_on_stream"),
		dl.Optional(&f.multicastPtr, "nvshmemx_mc_ptr"),
	}
	return append(bindings, f.collectiveBindings()...)
}

// collectiveBindings are every function that a name can be made for: those that the library has are
// what NVSHMEM supports.
func (f *functions) collectiveBindings() (bindings []dl.Binding) {
	onStream := func(to *dl.Func, name string) {
		bindings = append(bindings, dl.Optional(to, "nvshmemx_"+name+"_on_stream"))
	}
	for t := range DataType(types) {
		for op := range RedOp(ops) {
			onStream(&f.reduce[t][op], t.String()+"_"+op.String()+"_reduce")
			onStream(&f.reduceScatter[t][op], t.String()+"_"+op.String()+"_reducescatter")
		}
		onStream(&f.fcollect[t], t.carrier().String()+"_fcollect")
		onStream(&f.broadcast[t], t.carrier().String()+"_broadcast")
		onStream(&f.allToAll[t], t.carrier().String()+"_alltoall")
	}
	return bindings
}
