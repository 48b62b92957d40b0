package driver

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"gpurun/cudart"
	"gpurun/cudart/symm"
)

// setting is what the GPUs of the stand-in can do and what the ranks ask of them.
type setting struct {
	name       string
	options    symm.Options
	attributes map[int]int
}

var settings = []setting{
	{"files", symm.Options{Kind: symm.VMM}, nil},
	{"multicast by files", symm.Options{Multicast: true}, map[int]int{attrMulticast: 1}},
	{
		"multicast by fabric handles",
		symm.Options{Multicast: true},
		map[int]int{attrMulticast: 1, attrFile: 0, attrFabric: 1},
	},
	{"auto", symm.Options{}, map[int]int{attrFabric: 1}},
}

func (s setting) apply(t *testing.T, f *fake) {
	for _, name := range []string{"NCCL_NVLS_ENABLE", "NVSHMEM_DISABLE_NVLS", "TORCH_SYMM_MEM_DISABLE_MULTICAST"} {
		t.Setenv(name, "")
	}
	f.call("fake_reset")
	for number, value := range s.attributes {
		f.attribute(number, value)
	}
}

// TestRanksShareMemory has each rank write to its own memory and the other read it.
func TestRanksShareMemory(t *testing.T) {
	f := newFake(t)
	for _, s := range settings {
		t.Run(s.name, func(t *testing.T) {
			s.apply(t, f)
			before := openFiles(t, "")
			r := f.ranks(t)
			if err := errors.Join(failures(r.allocate(s.options, nil))...); err != nil {
				t.Fatal(err)
			}
			for rank, m := range r.memories {
				if m.Backend != "vmm" || m.Bytes != 5000 || (m.Multicast != 0) != s.options.Multicast || m.MulticastWhy != "" {
					t.Errorf("rank %d: %+v", rank, m)
				}
			}
			if err := errors.Join(failures(r.each(r.write))...); err != nil {
				t.Error(err)
			}
			if err := errors.Join(failures(r.each(r.readPeer))...); err != nil {
				t.Error(err)
			}
			if err := r.free(); err != nil {
				t.Error(err)
			}
			if live, now := f.live(), settledFiles(t, before); live != "contexts=2" || now != before {
				t.Errorf("left behind: %s and %d files of %d", live, now, before)
			}
			if err := r.close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func failures(errs [2]error) []error { return errs[:] }

func (r *ranks) write(rank int, d *device) error {
	s, err := d.NewStream()
	if err != nil {
		return err
	}
	return errors.Join(s.Fill(r.memories[rank].Local, byte('a'+rank), 5000), s.Close())
}

func (r *ranks) readPeer(rank int, d *device) error {
	s, err := d.NewStream()
	if err != nil {
		return err
	}
	got := make([]byte, 5000)
	err = errors.Join(s.Download(got, r.memories[rank].Peers[1-rank]), s.Close())
	if want := strings.Repeat(string(rune('a'+1-rank)), 5000); err == nil && string(got) != want {
		return errors.New("the peer's memory holds " + string(got[:10]))
	}
	return err
}

// TestEveryCallThatFails has each driver call of each rank fail, one at a time. Both
// ranks must have memory or neither, and both a multicast address or neither, and
// nothing may be left.
func TestEveryCallThatFails(t *testing.T) {
	f := newFake(t)
	for _, s := range settings {
		t.Run(s.name, func(t *testing.T) {
			before := openFiles(t, "")
			for ordinal := range 2 {
				for n, more := 1, true; more; n++ {
					more = failOnce(t, f, s, ordinal, n)
					f.call("fake_reset")
					if now := settledFiles(t, before); now != before {
						t.Fatalf("GPU %d, call %d: %d files are open, %d were before", ordinal, n, now, before)
					}
				}
			}
		})
	}
}

// failOnce has the nth call of a GPU fail, and reports whether there was one.
func failOnce(t *testing.T, f *fake, s setting, ordinal, n int) bool {
	s.apply(t, f)
	r := f.ranks(t)
	f.failIn(ordinal, n, cudart.ErrOutOfMemory)
	errs := r.allocate(s.options, nil)
	inAllocate := f.failed()
	if (errs[0] == nil) != (errs[1] == nil) {
		t.Errorf("GPU %d, call %d (%s): the ranks disagree: %v and %v", ordinal, n, inAllocate, errs[0], errs[1])
	}
	if errs[0] == nil && errs[1] == nil {
		r.wantSameMulticast(s.options.Multicast, inAllocate)
		if err := r.free(); err != nil && f.failed() == "" {
			t.Errorf("GPU %d, call %d: freeing: %v", ordinal, n, err)
		}
	}
	failed := f.failed()
	f.failIn(ordinal, 0, 0)
	releases := []string{
		"cuMemRelease", "cuMemUnmap", "cuMemAddressFree", "cuMulticastUnbind", "cuMemFree_v2", "cuIpcCloseMemHandle",
	}
	// What a driver refuses to take back is left.
	if live := f.live(); live != "contexts=2" && !slices.Contains(releases, failed) {
		t.Errorf("GPU %d, call %d (%s) left behind: %s", ordinal, n, failed, live)
	}
	if err := r.close(); err != nil && !slices.Contains(releases, failed) {
		t.Error(err)
	}
	return failed != ""
}

func (r *ranks) wantSameMulticast(asked bool, failed string) {
	a, b := r.memories[0], r.memories[1]
	want := asked && a.MulticastWhy == ""
	if (a.Multicast != 0) != want || (b.Multicast != 0) != want || (a.MulticastWhy == "") != (b.MulticastWhy == "") {
		r.t.Errorf("after %s failed, multicast addresses %#x (%s) and %#x (%s)", failed, a.Multicast, a.MulticastWhy,
			b.Multicast, b.MulticastWhy)
	}
	if a.Backend != b.Backend || a.Why != b.Why {
		r.t.Errorf("after %s failed, backends %s (%s) and %s (%s)", failed, a.Backend, a.Why, b.Backend, b.Why)
	}
}

// TestMulticastStepsKeepTheirOrder checks what the stand-in does not refuse: that
// nothing is made before all ranks are able, and that rank 0's descriptor is open
// until all have mapped.
func TestMulticastStepsKeepTheirOrder(t *testing.T) {
	f := newFake(t)
	settings[1].apply(t, f)
	r := f.ranks(t)
	const object = "memfd:fake multicast object"
	defer func(r *ranks) {
		if err := errors.Join(r.free(), r.close()); err != nil {
			t.Error(err)
		}
	}(r)
	var before, open int
	errs := r.allocate(settings[1].options, func(rank int, name string) {
		switch {
		case rank == 0 && name == "symm/multicast/able":
			before = openFiles(t, object)
		case rank == 0 && name == "symm/multicast/map":
			open = openFiles(t, object)
		}
	})
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	// The stand-in itself holds one.
	if after := openFiles(t, object); before != 0 || open != 2 || after != 1 {
		t.Errorf("the object had %d descriptors before, %d while it was mapped, and %d afterwards; want 0, 2, 1", before,
			open, after)
	}
	var steps []string
	for _, call := range f.calls() {
		name, _, _ := strings.Cut(call, " ")
		if strings.HasPrefix(name, "cuMulticast") && name != "cuMulticastGetGranularity" {
			steps = append(steps, call)
		}
	}
	slices.Sort(steps[1:3]) // either rank may be first to join
	want := []string{
		"cuMulticastCreate 4194304 type 1", "cuMulticastAddDevice 70", "cuMulticastAddDevice 71",
		"cuMulticastBindMem 4194304", "cuMulticastBindMem 4194304",
	}
	if !slices.Equal(steps, want) {
		t.Errorf("multicast calls %q, want %q", steps, want)
	}
}

// TestDevicesWithoutMulticast have memory, and say why they have no address of all.
func TestDevicesWithoutMulticast(t *testing.T) {
	for name, test := range map[string]struct {
		fake *fake
		want string
	}{
		"one GPU": {
			newFake(t), "rank 1: cuDeviceGetAttribute: CUDA_ERROR_NOT_SUPPORTED " +
				"(801): the device attribute MULTICAST_SUPPORTED is 0",
		},
		"old driver": {
			newFake(t, "-DWITHOUT_MULTICAST"),
			"rank 0: cuMulticastCreate: CUDA_ERROR_NOT_SUPPORTED (801): the driver has no multicast objects",
		},
	} {
		t.Run(name, func(t *testing.T) {
			settings[1].apply(t, test.fake)
			test.fake.attributeOf(1, attrMulticast, 0)
			r := test.fake.ranks(t)
			test.fake.calls()
			if err := errors.Join(failures(r.allocate(settings[1].options, nil))...); err != nil {
				t.Fatal(err)
			}
			for rank, m := range r.memories {
				if m.Multicast != 0 || !strings.Contains(m.MulticastWhy, test.want) {
					t.Errorf("rank %d: multicast address %#x because %q, want %q", rank, m.Multicast, m.MulticastWhy, test.want)
				}
			}
			for _, call := range test.fake.calls() {
				if strings.HasPrefix(call, "cuMulticastCreate") {
					t.Error(call)
				}
			}
			if err := errors.Join(r.free(), r.close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestMulticastIsForbidden looks for anything that was made although the
// environment forbids it.
func TestMulticastIsForbidden(t *testing.T) {
	f := newFake(t)
	settings[1].apply(t, f)
	t.Setenv("NCCL_NVLS_ENABLE", "0")
	r := f.ranks(t)
	f.calls()
	for rank, err := range r.allocate(settings[1].options, nil) {
		if err == nil || !strings.Contains(err.Error(), "NCCL_NVLS_ENABLE=0 forbids multicast objects") {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
	if calls := f.calls(); calls != nil {
		t.Errorf("calls %q", calls)
	}
	if err := r.close(); err != nil {
		t.Error(err)
	}
}

func TestAutoSaysWhyItIsNotVMM(t *testing.T) {
	for name, test := range map[string]struct {
		fake   *fake
		breaks func(*fake)
		want   string
	}{
		"one GPU": {
			newFake(t), func(f *fake) { f.attributeOf(1, attrFile, 0) },
			"because rank 1 exports no file descriptors of its GPU's memory (cuDeviceGetAttribute: CUDA_ERROR_NOT_SUPPORTED " +
				"(801): " +
				"the device attribute HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED is 0), and rank 0 exports no fabric handles",
		},
		"old driver": {
			newFake(t, "-DWITHOUT_VMM"), func(*fake) {},
			"because rank 0 exports no file descriptors of its GPU's memory (cuMemCreate: CUDA_ERROR_NOT_SUPPORTED " +
				"(801): the driver has no virtual memory management",
		},
	} {
		t.Run(name, func(t *testing.T) {
			setting{}.apply(t, test.fake)
			test.breaks(test.fake)
			r := test.fake.ranks(t)
			if err := errors.Join(failures(r.allocate(symm.Options{}, nil))...); err != nil {
				t.Fatal(err)
			}
			for rank, m := range r.memories {
				if m.Backend != "ipc" || !strings.Contains(m.Why, test.want) {
					t.Errorf("rank %d: %s, %q; want %q", rank, m.Backend, m.Why, test.want)
				}
			}
			if err := errors.Join(r.free(), r.close()); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestPeerOutOfReach has one GPU refuse access to the other's memory.
func TestPeerOutOfReach(t *testing.T) {
	f := newFake(t)
	for call, code := range map[string]cudart.Result{
		"cuMemSetAccess":                 cudart.ErrInvalidDevice, // as drivers do without peer access
		"cuMemImportFromShareableHandle": cudart.ErrInvalidDevice, // as drivers do with hidden GPUs
		"cuMemMap":                       217,
	} {
		f.call("fake_reset")
		r := f.ranks(t)
		errs := r.allocate(symm.Options{Kind: symm.VMM}, func(rank int, name string) {
			if rank == 0 && name == "symm/allocated" { // this rank's own memory is mapped, and the peer's not yet
				f.failOn(0, call, code)
			}
		})
		for rank, err := range errs {
			var unreachable *symm.NoPeerAccessError
			if !errors.As(err, &unreachable) || unreachable.Rank != 0 || unreachable.Peer != 1 {
				t.Errorf("%s: rank %d: %v", call, rank, err)
			}
		}
		if live := f.live(); live != "contexts=2" {
			t.Errorf("%s: left behind: %s", call, live)
		}
		if err := r.close(); err != nil {
			t.Error(err)
		}
	}
}
