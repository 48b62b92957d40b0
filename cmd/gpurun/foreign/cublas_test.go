package foreign

import (
	"encoding/binary"
	"errors"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
	"gpurun/cudart/cublas"
	"gpurun/kernels/collective"
	"gpurun/kernels/matmul"
)

// hostDevice allocates memory of the host, which is where stand-ins work.
type hostDevice struct {
	cudart.Device
	pins   runtime.Pinner
	blocks map[cudart.DevicePtr]bool
}

func (d *hostDevice) Malloc(bytes int64) (cudart.DevicePtr, error) {
	memory := make([]byte, bytes+256)
	d.pins.Pin(&memory[0])
	p := (cudart.DevicePtr(uintptr(unsafe.Pointer(&memory[0]))) + 255) &^ 255
	d.blocks[p] = true
	return p, nil
}

func (d *hostDevice) Free(p cudart.DevicePtr) error {
	if !d.blocks[p] {
		return errors.New("freeing what is not allocated")
	}
	delete(d.blocks, p)
	return nil
}

type hostStream struct{ cudart.Stream }

func (hostStream) Handle() uintptr { return 0x1234 }

func openStandIn(t *testing.T) *cublasLibrary {
	t.Helper()
	l, err := openCUBLAS(standIn(t, "cublas", "libcublas.so.13"))
	if err != nil {
		t.Fatal(err)
	}
	return l.(*cublasLibrary)
}

func TestCUBLASMultiplies(t *testing.T) {
	t.Setenv("FAKE_CUBLAS_STREAM", "0x1234")
	l, d := openStandIn(t), &hostDevice{blocks: map[cudart.DevicePtr]bool{}}
	defer d.pins.Unpin()
	if diff := cmp.Diff("cuBLAS 13.4.1", l.Title()); diff != "" {
		t.Error(diff)
	}
	for range 2 { // the second one has nothing to do
		if err := l.Prepare(d); err != nil {
			t.Fatal(err)
		}
	}
	if len(d.blocks) != 1 {
		t.Errorf("%d blocks of memory are allocated", len(d.blocks))
	}
	for name, want := range map[string]struct {
		dtype    collective.DType
		two, six uint16
	}{
		"half":     {collective.Half, 0x4000, 0x4600},
		"bfloat16": {collective.BFloat16, 0x4000, 0x40c0},
	} {
		memory, err := d.Malloc(6)
		if err != nil {
			t.Fatal(err)
		}
		at := unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&memory))), 6)
		three := map[string]uint16{"half": 0x4200, "bfloat16": 0x4040}[name]
		binary.LittleEndian.PutUint16(at, want.two)
		binary.LittleEndian.PutUint16(at[2:], three)
		p := matmul.Problem{M: 1, N: 1, K: 1, DType: want.dtype}
		if err := l.Multiply(hostStream{}, p, memory, memory+2, memory+4); err != nil {
			t.Fatal(err)
		}
		if got := binary.LittleEndian.Uint16(at[4:]); got != want.six {
			t.Errorf("%s: 2 x 3 is %#x, want %#x", name, got, want.six)
		}
		if err := d.Free(memory); err != nil {
			t.Error(err)
		}
	}
	if err := errors.Join(l.Leave(), l.Abort()); err != nil {
		t.Error(err)
	}
	if len(d.blocks) != 0 {
		t.Error("the workspace was not freed")
	}
}

func TestCUBLASRefuses(t *testing.T) {
	l, d := openStandIn(t), &hostDevice{blocks: map[cudart.DevicePtr]bool{}}
	defer d.pins.Unpin()
	p := matmul.Problem{M: 1, N: 1, K: 1, DType: collective.Half}
	if err := l.Multiply(hostStream{}, p, 0, 0, 0); err == nil || !strings.Contains(err.Error(), "it is not prepared") {
		t.Errorf("got %v", err)
	}
	if err := l.Supports("allreduce", collective.Half, collective.Sum); err == nil ||
		err.Error() != "cuBLAS 13.4.1 has no collective for allreduce" {
		t.Errorf("got %v", err)
	}
	t.Setenv("FAKE_CUBLAS_CREATE", "3")
	if err := l.Prepare(d); !errors.Is(err, cublas.ErrAllocFailed) || len(d.blocks) != 0 {
		t.Errorf("got %v, and %d blocks are left", err, len(d.blocks))
	}
	if _, err := openCUBLAS(filepath.Join(t.TempDir(), "libcublas.so.13")); err == nil {
		t.Error("no file is a library")
	}
}
