package cublas

import (
	"fmt"
	"math"
	"runtime"
	"unsafe"

	"gpurun/cudart"
)

// DataType is a cudaDataType_t.
type DataType int32

// The element types, by library_types.h's numbers.
const (
	Float16  DataType = 2
	BFloat16 DataType = 14
)

// WorkspaceBytes is the workspace that NVIDIA recommends for compute capability 9.0,
// which is the most of all: cuBLAS's documentation of cublasSetWorkspace.
const WorkspaceBytes = 32 << 20

// Numbers of cublas_api.h.
const (
	opN         = 0
	opT         = 1
	compute32F  = 68
	gemmDefault = -1
	// mathMode keeps partial sums in fp32, too, where cuBLAS splits K:
	// CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION.
	mathMode = 16
)

// Handle multiplies on one device. Like the device, it belongs to one OS thread.
type Handle struct {
	lib            *Library
	handle         uintptr // cublasHandle_t; 0 once closed
	workspace      cudart.DevicePtr
	workspaceBytes int64
	stream         uintptr
	bound          bool // to stream
	scalars        *[2]float32
	pins           runtime.Pinner // of scalars
	args           [19]uintptr    // see Multiply
}

// Create makes a handle on the device whose primary context is current. All of its
// products use the workspace, which stays the caller's, is aligned to 256 bytes, and
// outlives them; because cuBLAS then allocates nothing, products can be captured in
// graphs. The caller closes the handle.
func (l *Library) Create(workspace cudart.DevicePtr, bytes int64) (*Handle, error) {
	h := &Handle{lib: l, workspace: workspace, workspaceBytes: bytes, scalars: &[2]float32{1, 0}}
	f := l.fns.create
	if err := l.check(f, f.Call(uintptr(unsafe.Pointer(&h.handle)))); err != nil {
		return nil, err
	}
	h.pins.Pin(h.scalars)
	f = l.fns.setMode
	if err := l.check(f, f.Call(h.handle, mathMode)); err != nil {
		_ = h.Close() // the first error says why
		return nil, err
	}
	return h, nil
}

// Close frees the handle. The work that was enqueued must be done.
func (h *Handle) Close() error {
	if h.handle == 0 {
		return nil
	}
	f := h.lib.fns.destroy
	err := h.lib.check(f, f.Call(h.handle))
	h.handle = 0
	h.pins.Unpin()
	return err
}

// GEMM is a product C = A x B: A is M x K and C is M x N, both by rows; B is K x N by
// columns, N rows of K elements as the weight of a linear layer lies. Sums are fp32.
type GEMM struct {
	M, N, K int64
	A, B, C cudart.DevicePtr
	Type    DataType
}

// Multiply enqueues a product on a CUstream, and allocates nothing.
//
// cuBLAS's matrices lie by columns. To it C is its own transpose, N x M with leading
// dimension N, and so is A, K x M with leading dimension K: it is to compute
// C^T = B^T x A^T. B lies by columns, so it alone is transposed.
func (h *Handle) Multiply(g GEMM, stream uintptr) error {
	if err := h.check(g); err != nil {
		return err
	}
	if err := h.bind(stream); err != nil {
		return err
	}
	algorithm := int32(gemmDefault)
	// The list lies in the handle: one that the compiler makes for each call would be
	// garbage.
	h.args = [...]uintptr{
		h.handle, opT, opN, uintptr(g.N), uintptr(g.M), uintptr(g.K),
		uintptr(unsafe.Pointer(&h.scalars[0])), // alpha
		uintptr(g.B), uintptr(g.Type), uintptr(g.K),
		uintptr(g.A), uintptr(g.Type), uintptr(g.K),
		uintptr(unsafe.Pointer(&h.scalars[1])), // beta
		uintptr(g.C), uintptr(g.Type), uintptr(g.N),
		compute32F, uintptr(uint32(algorithm)),
	}
	f := h.lib.fns.gemmEx
	return h.lib.check(f, f.Call(h.args[:]...))
}

// check refuses what cublasGemmEx, whose dimensions are ints, cannot be told.
func (h *Handle) check(g GEMM) error {
	if h.handle == 0 {
		return fmt.Errorf("multiplying by cuBLAS: %w: the handle is closed", ErrNotInitialized)
	}
	for _, dimension := range [...]int64{g.M, g.N, g.K} {
		if dimension < 1 || dimension > math.MaxInt32 {
			return fmt.Errorf("multiplying %d x %d x %d by cuBLAS: a dimension is 1 to %d", g.M, g.N, g.K, math.MaxInt32)
		}
	}
	return nil
}

// bind makes stream the one that products go to. cublasSetStream takes the workspace
// away, so that it is set again.
func (h *Handle) bind(stream uintptr) error {
	if h.bound && h.stream == stream {
		return nil
	}
	h.bound = false
	f := h.lib.fns.setStream
	if err := h.lib.check(f, f.Call(h.handle, stream)); err != nil {
		return err
	}
	f = h.lib.fns.setWorkspace
	if err := h.lib.check(f, f.Call(h.handle, uintptr(h.workspace), uintptr(h.workspaceBytes))); err != nil {
		return err
	}
	h.stream, h.bound = stream, true
	return nil
}
