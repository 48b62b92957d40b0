package cublas

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"github.com/x448/float16"

	"gpurun/cudart"
)

// stream stands for a CUstream; the stand-in checks that it arrives whole.
const stream = 0x7fedcba987654321

// space is a workspace, aligned as device memory is.
func space(pins *runtime.Pinner) cudart.DevicePtr {
	memory := make([]byte, 2*256)
	return (pinned(pins, memory) + 255) &^ 255
}

// pinned is where the stand-in, whose device memory is the host's, finds a slice.
func pinned[T any](pins *runtime.Pinner, s []T) cudart.DevicePtr {
	pins.Pin(&s[0])
	return cudart.DevicePtr(uintptr(unsafe.Pointer(&s[0])))
}

func create(t testing.TB) (*Handle, *runtime.Pinner) {
	t.Helper()
	pins := new(runtime.Pinner)
	h, err := open(t).Create(space(pins), 256)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
		pins.Unpin()
	})
	return h, pins
}

// encode rounds to an element type. The numbers of the tests are exact in both.
func encode(t DataType, x float32) uint16 {
	if t == Float16 {
		return float16.Fromfloat32(x).Bits()
	}
	return uint16(math.Float32bits(x) >> 16)
}

// small numbers of which no two rows or columns are alike.
func small(seed, row, column int64) float32 {
	return float32((seed+5*row+3*column+row*column)%7 - 3)
}

// Every dimension differs from the others, so that none can stand for another.
func TestMultiply(t *testing.T) {
	t.Setenv("FAKE_CUBLAS_STREAM", fmt.Sprintf("%#x", uint64(stream)))
	for _, dtype := range []DataType{BFloat16, Float16} {
		for _, shape := range [][3]int64{{1, 1, 1}, {2, 3, 5}, {7, 4, 3}, {1, 9, 2}, {8, 1, 6}} {
			h, pins := create(t)
			m, n, k := shape[0], shape[1], shape[2]
			a, b, c, want := make([]uint16, m*k), make([]uint16, n*k), make([]uint16, m*n+1), make([]uint16, m*n+1)
			for i := range m {
				for l := range k {
					a[i*k+l] = encode(dtype, small(1, i, l))
				}
			}
			for j := range n {
				for l := range k {
					b[j*k+l] = encode(dtype, small(2, j, l))
				}
			}
			for i := range m {
				for j := range n {
					var sum float32
					for l := range k {
						sum += small(1, i, l) * small(2, j, l)
					}
					want[i*n+j] = encode(dtype, sum)
				}
			}
			c[m*n], want[m*n] = 0x5a5a, 0x5a5a // beside the output
			g := GEMM{M: m, N: n, K: k, A: pinned(pins, a), B: pinned(pins, b), C: pinned(pins, c), Type: dtype}
			if err := h.Multiply(g, stream); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, c); diff != "" {
				t.Errorf("type %d, %v: %s", dtype, shape, diff)
			}
		}
	}
}

// one is the smallest product.
func one(pins *runtime.Pinner) GEMM {
	memory := pinned(pins, make([]uint16, 3))
	return GEMM{M: 1, N: 1, K: 1, A: memory, B: memory + 2, C: memory + 4, Type: BFloat16}
}

// A workspace is lost with the stream that it was for.
func TestStreamsChange(t *testing.T) {
	h, pins := create(t)
	for _, s := range []uintptr{0, stream, stream, 2, stream} {
		t.Setenv("FAKE_CUBLAS_STREAM", fmt.Sprintf("%#x", uint64(s)))
		if err := h.Multiply(one(pins), s); err != nil {
			t.Errorf("stream %#x: %v", s, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	h, pins := create(t)
	for name, tt := range map[string]struct {
		spoil func(*GEMM)
		want  string
	}{
		"no rows":   {func(g *GEMM) { g.M = 0 }, "multiplying 0 x 1 x 1 by cuBLAS"},
		"too large": {func(g *GEMM) { g.N = 1 << 31 }, "a dimension is 1 to 2147483647"},
		"type": {
			func(g *GEMM) { g.Type = 0 }, "cublasGemmEx: CUBLAS_STATUS_NOT_SUPPORTED (15): some error; CUBLAS_LOGINFO_DBG=1",
		},
	} {
		g := one(pins)
		tt.spoil(&g)
		if err := h.Multiply(g, stream); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want %q", name, err, tt.want)
		}
	}
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	if err := h.Multiply(one(pins), stream); !errors.Is(err, ErrNotInitialized) {
		t.Errorf("closed: %v", err)
	}
}

func TestCreateFails(t *testing.T) {
	t.Setenv("FAKE_CUBLAS_CREATE", "1")
	_, err := open(t).Create(256, 256)
	if !errors.Is(err, ErrNotInitialized) ||
		!strings.Contains(err.Error(), "the driver or the GPU may be too old for this cuBLAS") {
		t.Errorf("got %v", err)
	}
}

// A stream whose workspace cuBLAS refuses is not bound, and no longer is the one
// before it.
func TestBadWorkspace(t *testing.T) {
	h, pins := create(t)
	t.Setenv("FAKE_CUBLAS_STREAM", fmt.Sprintf("%#x", uint64(stream)))
	good := h.workspace
	if err := h.Multiply(one(pins), stream); err != nil {
		t.Fatal(err)
	}
	h.workspace += 8
	for range 2 {
		if err := h.Multiply(one(pins), 2); !errors.Is(err, ErrInvalidValue) {
			t.Errorf("got %v", err)
		}
	}
	h.workspace = good
	if err := h.Multiply(one(pins), stream); err != nil {
		t.Error(err)
	}
}

// Enqueuing is what benchmarks measure: it makes no garbage.
func TestMultiplyingAllocatesNothing(t *testing.T) {
	h, pins := create(t)
	g := one(pins)
	var err error
	allocs := testing.AllocsPerRun(100, func() { err = errors.Join(err, h.Multiply(g, stream)) })
	if err != nil || allocs > 0 {
		t.Errorf("%v allocations, %v", allocs, err)
	}
}
