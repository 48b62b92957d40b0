package foreign

import (
	"errors"
	"fmt"

	"gpurun/cudart"
	"gpurun/cudart/cublas"
	"gpurun/cudart/symm"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
	"gpurun/worker/library"
)

// cublasLibrary multiplies, as a [matmul.BLAS]. It does not communicate, so joining the other ranks does nothing.
type cublasLibrary struct {
	lib       *cublas.Library
	handle    *cublas.Handle // nil until it is prepared
	device    cudart.Device
	workspace cudart.DevicePtr
}

var _ matmul.BLAS = (*cublasLibrary)(nil)

func openCUBLAS(path string) (library.Library, error) {
	lib, err := cublas.Open(path)
	if err != nil {
		return nil, err
	}
	return &cublasLibrary{lib: lib}, nil
}

func (l *cublasLibrary) Title() string { return "cuBLAS " + l.lib.Version().String() }

func (l *cublasLibrary) NewUniqueID() ([128]byte, error) { return [128]byte{}, nil }
func (l *cublasLibrary) Join(int, int, [128]byte) error  { return nil }
func (l *cublasLibrary) Err() error                      { return nil }
func (l *cublasLibrary) HasHeap() bool                   { return false }

func (l *cublasLibrary) Heap(int64, bool) (symm.NVSHMEM, error) {
	return nil, errors.New("cuBLAS has no symmetric heap")
}

func (l *cublasLibrary) Supports(of string, _ collective.DType, _ collective.Op) error {
	return noCollective(l.Title(), of)
}

func (l *cublasLibrary) Enqueue(_ cudart.Stream, j collective.LibraryCall) error {
	return noCollective(l.Title(), j.Collective)
}

// Prepare makes a handle with a workspace on the device.
func (l *cublasLibrary) Prepare(d cudart.Device) (err error) {
	if l.handle != nil {
		return nil
	}
	if l.workspace, err = d.Malloc(cublas.WorkspaceBytes); err != nil {
		return fmt.Errorf("allocating cuBLAS's workspace: %w", err)
	}
	if l.handle, err = l.lib.Create(l.workspace, cublas.WorkspaceBytes); err != nil {
		return errors.Join(err, d.Free(l.workspace))
	}
	l.device = d
	return nil
}

// cublasTypes are cuBLAS's numbers, by gpurun's names.
var cublasTypes = map[string]cublas.DataType{
	collective.Half.Name: cublas.Float16, collective.BFloat16.Name: cublas.BFloat16,
}

// Multiply is documented with [matmul.BLAS].
func (l *cublasLibrary) Multiply(s cudart.Stream, p matmul.Problem, a, b, c cudart.DevicePtr) error {
	stream, err := handleOf(s)
	if err != nil {
		return err
	}
	if l.handle == nil {
		return fmt.Errorf("multiplying by %s: it is not prepared", l.Title())
	}
	return l.handle.Multiply(cublas.GEMM{M: p.M, N: p.N, K: p.K, A: a, B: b, C: c, Type: cublasTypes[p.DType.Name]},
		stream)
}

// Leave frees what Prepare made.
func (l *cublasLibrary) Leave() error {
	if l.handle == nil {
		return nil
	}
	err := errors.Join(l.handle.Close(), l.device.Free(l.workspace))
	l.handle = nil
	return err
}

// Abort is Leave: no other rank takes part.
func (l *cublasLibrary) Abort() error { return l.Leave() }
