package foreign

import (
	"errors"
	"strings"
	"testing"

	"gpurun/cudart"
	"gpurun/cudart/nccl"
	"gpurun/kernels/collective"
	"gpurun/worker/library"
)

// joined is NCCL on registered memory, which the only rank has joined.
func joined(t *testing.T) *ncclSymmetric {
	t.Helper()
	opened, err := openNCCLSymmetric(standIn(t, "nccl", "libnccl.so.2"))
	if err != nil {
		t.Fatal(err)
	}
	id, err := opened.NewUniqueID()
	if err := errors.Join(err, opened.Join(0, 1, id)); err != nil {
		t.Fatal(err)
	}
	return opened.(*ncclSymmetric)
}

// Calls work on registered memory. Leaving ends the window first, without which the stand-in
// does not end the communicator.
func TestSymmetricNCCLRegistersMemory(t *testing.T) {
	t.Setenv("FAKE_NCCL_STREAM", "0x1234")
	d := &hostDevice{blocks: map[cudart.DevicePtr]bool{}}
	defer d.pins.Unpin()
	memory, err := d.Malloc(64)
	if err != nil {
		t.Fatal(err)
	}
	l := joined(t)
	var r library.Registrar = l
	if err := r.Register(memory, 64); err != nil {
		t.Fatal(err)
	}
	call := collective.LibraryCall{
		Collective: "allreduce", Send: memory, Recv: memory + 32, Count: 8, DType: collective.Float, Op: collective.Sum,
	}
	if err := l.Enqueue(hostStream{}, call); err != nil {
		t.Error(err)
	}
	call.Recv = memory + 64
	if err := l.Enqueue(hostStream{}, call); !errors.Is(err, nccl.ErrInvalidArgument) {
		t.Errorf("beside the window: %v", err)
	}
	if err := errors.Join(l.Leave(), l.Abort()); err != nil {
		t.Error(err)
	}
}

func TestSymmetricNCCLRefuses(t *testing.T) {
	recent := standIn(t, "nccl", "libnccl.so.2")
	old := standIn(t, "nccl", "libnccl.so.2", "-DVERSION=22403")
	for _, tt := range []struct{ path, variable, want string }{
		{old, "", "windows of symmetric memory need NCCL 2.27.0, and " + old + " is 2.24.3; install a newer one with"},
		{"/nowhere/libnccl.so.2", "", "NCCL: library not found: tried /nowhere/libnccl.so.2"},
		{recent, "NCCL_WIN_ENABLE", "NCCL_WIN_ENABLE=0 forbids NCCL to share registered memory: unset NCCL_WIN_ENABLE"},
		{recent, "NCCL_CUMEM_ENABLE", "NCCL_CUMEM_ENABLE=0 forbids"},
	} {
		t.Run(tt.want, func(t *testing.T) {
			if tt.variable != "" {
				t.Setenv(tt.variable, "0")
			}
			if _, err := openNCCLSymmetric(tt.path); err == nil || !strings.HasPrefix(err.Error(), tt.want) {
				t.Errorf("got %v", err)
			}
		})
	}
	l := joined(t)
	if err := l.Supports("broadcast", collective.Float, collective.None); err == nil ||
		err.Error() != "NCCL 2.28.9 has no collective for broadcast" {
		t.Errorf("got %v", err)
	}
	t.Setenv("FAKE_NCCL_WINDOW", "1")
	if err := l.Register(256, 64); !errors.Is(err, nccl.ErrUnhandledCUDA) {
		t.Errorf("got %v", err)
	}
	if err := l.Leave(); err != nil { // there is no window
		t.Error(err)
	}
}
