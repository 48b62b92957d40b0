package symm

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
)

// TestKindsThatDevicesCannotDo names what they can.
func TestKindsThatDevicesCannotDo(t *testing.T) {
	for name, test := range map[string]struct {
		wrap func(*device) cudart.Device
		kind Kind
		want string
	}{
		"no such kind": {
			handles, "shm", "kind shm: there is no such kind; there are auto, vmm, ipc, nvshmem, host, private, sim",
		},
		"vmm of the simulator": {
			files, VMM, `device "fake" (test) has no way to share memory so; it can do auto, private, sim`,
		},
		"nvshmem of the simulator": {files, NVSHMEMHeap, "it can do auto, private, sim"},
		"ipc of the simulator":     {files, IPC, "it can do auto, private, sim"},
		"vmm of an old device":     {hosts, VMM, "it can do auto, ipc, nvshmem, host, private"},
		"no backend":               {func(d *device) cudart.Device { return d }, Auto, "it can do nvshmem, private"},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob(2, test.wrap).with(Options{Kind: test.kind})
			_, errs := j.allocate(t)
			for rank, err := range errs {
				var unsupported *UnsupportedError
				if !errors.As(err, &unsupported) || unsupported.Kind != test.kind || !strings.Contains(err.Error(), test.want) {
					t.Errorf("rank %d: %v, want %q", rank, err, test.want)
				}
			}
		})
	}
}

func TestMemorySaysWhyItIsOfItsKind(t *testing.T) {
	for name, test := range map[string]struct {
		wrap         func(*device) cudart.Device
		kind         Kind
		backend, why string
	}{
		"zero kind": {handles, "", "ipc", "peers map each other's memory by CUDA IPC"},
		"auto":      {handles, Auto, "ipc", "peers map each other's memory by CUDA IPC"},
		"simulator": {files, Auto, "sim", "simulated memory is a file that peers map"},
		"asked for": {hosts, Host, "host", "asked for"},
		"vmm":       {vmms, Auto, "vmm", "peers map each other's memory by VMM"},
	} {
		t.Run(name, func(t *testing.T) {
			j := newJob(2, test.wrap).with(Options{Kind: test.kind})
			memories, errs := j.allocate(t)
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			for rank, m := range memories {
				if m.Backend != test.backend || m.Why != test.why {
					t.Errorf("rank %d: %s, %q", rank, m.Backend, m.Why)
				}
			}
			j.free(t, memories)
		})
	}
}

// TestPrivateMemoryIsMappedByNobody has one rank free its memory without the others.
func TestPrivateMemoryIsMappedByNobody(t *testing.T) {
	for name, wrap := range map[string]func(*device) cudart.Device{"ipc": handles, "sim": files} {
		t.Run(name, func(t *testing.T) {
			before := openFiles(t)
			j := newJob(3, wrap).with(Options{Kind: Private})
			memories, errs := j.allocate(t)
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			for rank, m := range memories {
				want := make([]cudart.DevicePtr, 3)
				want[rank] = m.Local
				if diff := cmp.Diff(want, m.Peers); diff != "" || m.Local == 0 || m.Backend != "private" {
					t.Errorf("rank %d: %+v: %s", rank, m, diff)
				}
				if err := m.Free(ctx); err != nil {
					t.Errorf("rank %d: %v", rank, err)
				}
			}
			j.wantClean(t, before)
		})
	}
}
