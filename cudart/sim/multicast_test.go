package sim

import (
	"encoding/binary"
	"testing"

	"gpurun/cudart"
)

const multicastPTX = `
.version 8.1
.target sm_90
.address_size 64
.visible .entry gather(.param .u64 multicast, .param .u64 out)
{
	.reg .b64 %mc, %out;
	.reg .b32 %sum, %rank;
	ld.param.u64 %mc, [multicast];
	ld.param.u64 %out, [out];
	ld.global.u32 %rank, [%out];
	multimem.red.release.sys.global.add.u32 [%mc], %rank;
	multimem.ld_reduce.acquire.sys.global.add.u32 %sum, [%mc];
	st.global.u32 [%out], %sum;
	ret;
}
`

// shareMembers gives every device memory of its own and that of the others, in
// the order of ranks.
func shareMembers(t *testing.T, devices []*Device, bytes int64) [][]cudart.DevicePtr {
	t.Helper()
	members := make([][]cudart.DevicePtr, len(devices))
	for owner, d := range devices {
		own := mustMalloc(t, d, bytes)
		f, err := d.ExportFD(own)
		if err != nil {
			t.Fatal(err)
		}
		for rank, other := range devices {
			ptr := own
			if rank != owner {
				if ptr, err = other.ImportFD(f); err != nil {
					t.Fatal(err)
				}
			}
			members[rank] = append(members[rank], ptr)
		}
		if err := f.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return members
}

// What one rank adds at its multicast address arrives at all ranks, and what
// it loads there is the sum over all of them.
func TestMulticastSpansDevices(t *testing.T) {
	devices := []*Device{openDevice(t), openDevice(t), openDevice(t)}
	members := shareMembers(t, devices, 1000)
	want := []uint32{3 * 1, 3 * (1 + 10), 3 * (1 + 10 + 100)}
	for rank, d := range devices {
		mc, err := d.Multicast(members[rank])
		if err != nil {
			t.Fatal(err)
		}
		m, err := d.LoadModule("multicast.ptx", []byte(multicastPTX))
		if err != nil {
			t.Fatal(err)
		}
		k, err := m.Kernel("gather")
		if err != nil {
			t.Fatal(err)
		}
		s, out := mustStream(t, d), mustMalloc(t, d, 4)
		if err := s.Upload(out, []byte{[]byte{1, 10, 100}[rank], 0, 0, 0}); err != nil {
			t.Fatal(err)
		}
		if err := s.Launch(k, cudart.Launch{Blocks: 1, Threads: 1}, params(uint64(mc), uint64(out))); err != nil {
			t.Fatal(err)
		}
		var got [4]byte
		if err := s.Download(got[:], out); err != nil || binary.LittleEndian.Uint32(got[:]) != want[rank] {
			t.Errorf("rank %d sums %d, %v; want %d", rank, binary.LittleEndian.Uint32(got[:]), err, want[rank])
		}
		if err := s.Fill(mc, 1, 4); !isResult(err, cudart.ErrInvalidValue) {
			t.Errorf("a copy to a multicast address: %v", err)
		}
		if err := d.Free(members[rank][rank]); !isResult(err, cudart.ErrInvalidValue) {
			t.Errorf("freeing a member first: %v", err)
		}
		if err := d.Free(mc); err != nil {
			t.Error(err)
		}
		if err := d.Free(mc); !isResult(err, cudart.ErrInvalidValue) {
			t.Errorf("freeing a multicast address twice: %v", err)
		}
		if err := d.Free(members[rank][(rank+1)%3]); err != nil {
			t.Error(err)
		}
	}
}

func TestMulticastRefusals(t *testing.T) {
	d := openDevice(t)
	small, large := mustMalloc(t, d, 512), mustMalloc(t, d, 1024)
	host, err := d.MallocHost(512)
	if err != nil {
		t.Fatal(err)
	}
	mc, err := d.Multicast([]cudart.DevicePtr{small, small})
	if err != nil {
		t.Fatal(err) // Close releases it in any order
	}
	for name, members := range map[string][]cudart.DevicePtr{
		"none": {}, "null": {0}, "inside": {small + 256}, "sizes": {small, large},
		"host memory": {host.DevicePtr()}, "multicast": {mc},
	} {
		if _, err := d.Multicast(members); !isResult(err, cudart.ErrInvalidValue) {
			t.Errorf("%s: got %v, want CUDA_ERROR_INVALID_VALUE", name, err)
		}
	}
	old := openWith(t, Options{Major: 8})
	if _, err := old.Multicast([]cudart.DevicePtr{mustMalloc(t, old, 512)}); !isResult(err, cudart.ErrNotSupported) {
		t.Errorf("a device of capability 8.0: %v", err)
	}
}
