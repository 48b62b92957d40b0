package matmul

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
	"gpurun/kernels/collective"
	"gpurun/kernels/libraries"
)

// callLog records the calls of all foreign libraries, in order, and replaces these libraries.
type callLog struct {
	cudart.Device
	entries []any
}

type multiplied struct {
	Problem Problem
	A, B, C cudart.DevicePtr
}

func (d *callLog) Prepare(device cudart.Device) error {
	if device != cudart.Device(d) {
		return errors.New("another device")
	}
	d.entries = append(d.entries, "prepared")
	return nil
}

func (d *callLog) Multiply(s cudart.Stream, p Problem, a, b, c cudart.DevicePtr) error {
	if _, main := s.(quiet); !main {
		return errors.New("another stream")
	}
	d.entries = append(d.entries, multiplied{p, a, b, c})
	return nil
}

func (d *callLog) Supports(string, collective.DType, collective.Op) error { return nil }

func (d *callLog) Enqueue(_ cudart.Stream, call collective.LibraryCall) error {
	d.entries = append(d.entries, call)
	return nil
}

// The device of a group that runs nothing of its own.

func (d *callLog) Info() cudart.Info { return cudart.Info{Major: 9} }

func (d *callLog) MallocHost(bytes int64) (cudart.HostBuffer, error) {
	return hostMemory(make([]byte, bytes)), nil
}
func (d *callLog) NewStream(...cudart.StreamOption) (cudart.Stream, error) { return quiet{}, nil }

func (d *callLog) NewEvent() (cudart.Event, error) { return still{}, nil }

type still struct{ cudart.Event }

func (still) Close() error { return nil }

type quiet struct{ cudart.Stream }

func (quiet) Fill(cudart.DevicePtr, byte, int64) error { return nil }
func (quiet) Upload(cudart.DevicePtr, []byte) error    { return nil }
func (quiet) Close() error                             { return nil }

type hostMemory []byte

func (m hostMemory) Bytes() []byte             { return m }
func (hostMemory) DevicePtr() cudart.DevicePtr { return 1 << 20 }
func (hostMemory) Free() error                 { return nil }

// runnerWith is rank 1 of 2, whose symmetric memory begins at 0x20000.
func runnerWith(t *testing.T, d *callLog) *Runner {
	t.Helper()
	c, err := collective.New(collective.Config{
		Device: d, Rank: 1, Peers: []cudart.DevicePtr{0x10000, 0x20000}, Timeout: time.Second,
		Libraries: map[string]collective.Library{libraries.NCCLName: d},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	})
	return &Runner{Comm: c, Device: d, Main: quiet{}, BLAS: d}
}

// The calls to the external libraries, for every operation. The product is of the gathered rows, or
// its result is the input of the reduction.
func TestLibrariesAreAskedFor(t *testing.T) {
	call := Call{
		Problem: Problem{M: 6, N: 5, K: 8, DType: collective.Half}, A: 0x100, AFull: 0x200, B: 0x300, C: 0x400,
		Staging: 0x500,
	}
	product := func(a, c cudart.DevicePtr) multiplied { return multiplied{call.Problem, a, 0x20300, c} }
	library := func(name string, send, recv cudart.DevicePtr, count int64, op collective.Op) collective.LibraryCall {
		return collective.LibraryCall{Collective: name, Send: send, Recv: recv, Count: count, DType: collective.Half, Op: op}
	}
	for _, tt := range []struct {
		operation, algorithm string
		want                 []any
		staging              int64
	}{
		{"allgather-matmul", "cublas", []any{product(0x20200, 0x20400)}, 0},
		{"matmul-reducescatter", "cublas", []any{product(0x20100, 0x20500)}, 60},
		{"matmul-allreduce", "cublas", []any{product(0x20100, 0x20500)}, 60},
		{
			"allgather-matmul", "nccl",
			[]any{library("allgather", 0x20100, 0x20200, 3*8, collective.None), product(0x20200, 0x20400)},
			0,
		},
		{
			"matmul-reducescatter", "nccl",
			[]any{product(0x20100, 0x20500), library("reducescatter", 0x20500, 0x20400, 3*5, collective.Sum)},
			60,
		},
		{
			"matmul-allreduce", "nccl",
			[]any{product(0x20100, 0x20500), library("allreduce", 0x20500, 0x20400, 6*5, collective.Sum)},
			60,
		},
	} {
		o, _ := Find(tt.operation)
		a, ok := o.Algorithm(tt.algorithm)
		if !ok {
			t.Errorf("%s has no %s", tt.operation, tt.algorithm)
			continue
		}
		names := map[string][]string{"nccl": {"nccl", "cublas"}, "cublas": {"cublas"}}[tt.algorithm]
		if diff := cmp.Diff(names, a.Libraries()); diff != "" {
			t.Errorf("%s %s: %s", tt.operation, tt.algorithm, diff)
		}
		if err := a.Check(call.Problem, 2); err != nil {
			t.Error(err)
		}
		d := &callLog{}
		r := runnerWith(t, d)
		if err := errors.Join(r.Prepare(a, call), r.Enqueue(a, call)); err != nil {
			t.Errorf("%s %s: %v", tt.operation, tt.algorithm, err)
		}
		if diff := cmp.Diff(append([]any{"prepared"}, tt.want...), d.entries); diff != "" {
			t.Errorf("%s %s: %s", tt.operation, tt.algorithm, diff)
		}
		var staging int64
		if a.Staging != nil {
			staging = a.Staging(call.Problem, 2)
		}
		if staging != tt.staging || a.NoCommunication != (tt.algorithm == "cublas") {
			t.Errorf("%s %s: %d bytes of staging, alone %t", tt.operation, tt.algorithm, staging, a.NoCommunication)
		}
	}
}

func TestBLASThatIsNotOpen(t *testing.T) {
	r := runnerWith(t, &callLog{})
	r.BLAS = nil
	for _, o := range Operations() {
		a, _ := o.Algorithm("cublas")
		call := Call{Problem: Problem{M: 2, N: 2, K: 8, DType: collective.Half}}
		for _, err := range []error{r.Prepare(a, call), r.Enqueue(a, call)} {
			if err == nil || !strings.Contains(err.Error(), "multiplying by a library: none is open") {
				t.Errorf("%s: %v", o.Name, err)
			}
		}
	}
}
