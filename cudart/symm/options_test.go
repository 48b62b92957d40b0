package symm

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
)

func multicasts(d *device) cudart.Device { return withMulticast{byFile{d}} }

// allowMulticast undoes what the machine may have set.
func allowMulticast(t *testing.T) {
	t.Helper()
	for _, name := range []string{"NCCL_NVLS_ENABLE", "NVSHMEM_DISABLE_NVLS", "TORCH_SYMM_MEM_DISABLE_MULTICAST"} {
		t.Setenv(name, "")
	}
}

func TestMulticastAddressMeansAllRanks(t *testing.T) {
	t.Setenv("NCCL_NVLS_ENABLE", "0") // says nothing of the simulator
	before := openFiles(t)
	j := newJob(3, multicasts).with(Options{Multicast: true})
	memories, errs := j.allocate(t)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for rank, m := range memories {
		if diff := cmp.Diff(m.Peers, j.fabric.multicasts[m.Multicast]); diff != "" {
			t.Errorf("rank %d: members of %#x: %s", rank, m.Multicast, diff)
		}
	}
	errs = j.each(func(rank int) error { return memories[rank].Free(t.Context()) })
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	j.wantClean(t, before)
}

func TestMulticastIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		wrap   func(*device) cudart.Device
		o      Options
		env    string
		breaks func(*job)
		is     error
		want   string
	}{
		"CUDA IPC": {wrap: handles, o: Options{Multicast: true}, is: ErrNoMulticast, want: "CUDA IPC memory"},
		"host":     {wrap: hosts, o: Options{Multicast: true, Kind: Host}, is: ErrNoMulticast, want: "host memory"},
		"private":  {wrap: handles, o: Options{Multicast: true, Kind: Private}, is: ErrNoMulticast, want: "private memory"},
		"forbidden": {
			wrap: handles, o: Options{Multicast: true}, env: "NVSHMEM_DISABLE_NVLS", want: "NVSHMEM_DISABLE_NVLS=1 forbids",
		},
		"some ranks": {
			wrap: multicasts, o: Options{Multicast: true},
			want:   "same multicast option everywhere: true on rank 0,2; false on rank 1",
			breaks: func(j *job) { j.options[1].Multicast = false },
		},
	} {
		t.Run(name, func(t *testing.T) {
			allowMulticast(t)
			if test.env != "" {
				t.Setenv(test.env, "1")
			}
			before := openFiles(t)
			j := newJob(3, test.wrap).with(test.o)
			if test.breaks != nil {
				test.breaks(j)
			}
			_, errs := j.allocate(t)
			for rank, err := range errs {
				if err == nil || !strings.Contains(err.Error(), test.want) || test.is != nil && !errors.Is(err, test.is) {
					t.Errorf("rank %d: got %v, want %q", rank, err, test.want)
				}
				if test.is == nil && errors.Is(err, ErrNoMulticast) {
					t.Errorf("rank %d: %v is ErrNoMulticast", rank, err)
				}
			}
			j.wantClean(t, before)
		})
	}
}

// TestMemoryWithoutItsMulticastAddress has all ranks keep their memory where one of
// them cannot have an address of all.
func TestMemoryWithoutItsMulticastAddress(t *testing.T) {
	for name, test := range map[string]struct {
		device func(*device) cudart.Device
		want   string
	}{
		"device without it": {files, `rank 2: device "fake" has none`},
		"device fails":      {multicasts, "rank 2: no room"},
	} {
		t.Run(name, func(t *testing.T) {
			before := openFiles(t)
			j := newJob(3, multicasts).with(Options{Multicast: true})
			j.devices[2] = test.device(&device{fabric: j.fabric, multicastErr: errors.New("no room")})
			memories, errs := j.allocate(t)
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			for rank, m := range memories {
				if want := "making a multicast address: " + test.want; m.Multicast != 0 || m.MulticastWhy != want {
					t.Errorf("rank %d: multicast address %#x: %q, want %q", rank, m.Multicast, m.MulticastWhy, want)
				}
			}
			if len(j.fabric.multicasts) != 0 {
				t.Errorf("addresses are left: %v", j.fabric.multicasts)
			}
			j.free(t, memories)
			j.wantClean(t, before)
		})
	}
}

func TestMulticastForbidden(t *testing.T) {
	for _, test := range []struct{ name, value, want string }{
		{"NCCL_NVLS_ENABLE", "0", "NCCL_NVLS_ENABLE=0"},
		{"NCCL_NVLS_ENABLE", " false", "NCCL_NVLS_ENABLE= false"},
		{"NCCL_NVLS_ENABLE", "1", ""},
		{"NCCL_NVLS_ENABLE", "2", ""},
		{"NCCL_NVLS_ENABLE", "", ""},
		{"NVSHMEM_DISABLE_NVLS", "1", "NVSHMEM_DISABLE_NVLS=1"},
		{"NVSHMEM_DISABLE_NVLS", "yes", "NVSHMEM_DISABLE_NVLS=yes"},
		{"NVSHMEM_DISABLE_NVLS", "0", ""},
		{"NVSHMEM_DISABLE_NVLS", "no", ""},
		{"TORCH_SYMM_MEM_DISABLE_MULTICAST", "1", "TORCH_SYMM_MEM_DISABLE_MULTICAST=1"},
		{"TORCH_SYMM_MEM_DISABLE_MULTICAST", "0", ""},
		{"NVLS", "1", ""},
	} {
		got := MulticastForbidden(func(name string) string {
			if name == test.name {
				return test.value
			}
			return ""
		})
		if got != test.want {
			t.Errorf("%s=%q: got %q, want %q", test.name, test.value, got, test.want)
		}
	}
}
