package symm

import (
	"cmp"
	"errors"
	"os"
	"strconv"
	"strings"
	"testing"

	"gpurun/cudart"
)

// byVirtual is a fake vmmDevice that can do CUDA IPC too, and no multicast. The
// handle of memory is its address in the fabric, to which an import adds a mark.
type byVirtual struct {
	mapErr error // of a peer's memory, by VMM alone
	byHandle
	groupDevice
	granularity int64
	cannot      [2]error // export files, and fabric handles
	size        int64    // of the memory that was created
	importErr   error
	imported    int // handles
}

const importMark = 1 << 40

func vmms(d *device) cudart.Device { return &byVirtual{byHandle: byHandle{d}, granularity: 4096} }

func (d *byVirtual) CanExport(fabric bool) error {
	if fabric {
		return d.cannot[1]
	}
	return d.cannot[0]
}

func (d *byVirtual) MemoryGranularity(bool) (int64, error) { return d.granularity, nil }

func (d *byVirtual) CreateMemory(bytes int64, _ bool) (uint64, error) {
	d.size = bytes
	ptr, err := d.Malloc(bytes)
	return uint64(ptr), err
}

func (d *byVirtual) ExportFile(h uint64) (*os.File, error) {
	return byFile{d.device}.ExportFD(cudart.DevicePtr(h))
}

func (d *byVirtual) ImportFile(f *os.File) (uint64, error) {
	if d.importErr != nil {
		return 0, d.importErr
	}
	node, err := inode(f)
	d.fabric.mu.Lock()
	defer d.fabric.mu.Unlock()
	d.imported++
	return uint64(d.fabric.byInode[node]) | importMark, err
}

func (d *byVirtual) ExportFabric(h uint64) (fabric [64]byte, err error) {
	copy(fabric[:], strconv.FormatUint(h, 10))
	return fabric, nil
}

func (d *byVirtual) ImportFabric(fabric [64]byte) (uint64, error) {
	d.imported++
	h, err := strconv.ParseUint(strings.TrimRight(string(fabric[:]), "\x00"), 10, 64)
	return h | importMark, err
}

func (d *byVirtual) MapMemory(h uint64, bytes int64) (cudart.DevicePtr, error) {
	if bytes != d.size {
		return 0, &cudart.Error{Op: "MapMemory", Code: cudart.ErrInvalidValue}
	}
	if err := cmp.Or(d.openErr, d.mapErr); h&importMark != 0 && err != nil {
		return 0, err
	}
	return d.fabric.open(cudart.DevicePtr(h &^ importMark))
}

func (d *byVirtual) UnmapMemory(ptr cudart.DevicePtr) error { return d.fabric.release(ptr) }

func (d *byVirtual) ReleaseMemory(h uint64) error {
	if h&importMark != 0 {
		d.imported--
		return nil
	}
	return d.fabric.release(cudart.DevicePtr(h))
}

func (d *byVirtual) CanMulticast() error { return errors.New("no multicast") }

func (j *job) virtual(rank int) *byVirtual { return j.devices[rank].(*byVirtual) }

// TestVMMSettlesOnWhatAllRanksCan has ranks differ in what they can do.
func TestVMMSettlesOnWhatAllRanksCan(t *testing.T) {
	noFiles, noFabric := errors.New("no files"), errors.New("no fabric")
	for name, test := range map[string]struct {
		kind         Kind
		breaks       func(*job)
		backend, why string
	}{
		"files": {Auto, func(*job) {}, "vmm", "peers map each other's memory by VMM"},
		"fabric handles": {
			Auto, func(j *job) { j.virtual(1).cannot[0] = noFiles }, "vmm",
			"peers map each other's memory by VMM fabric handles, because rank 1 exports no file descriptors of its GPU's " +
				"memory (no files)",
		},
		"CUDA IPC": {
			Auto, func(j *job) { j.virtual(1).cannot[0], j.virtual(2).cannot[1] = noFiles, noFabric }, "ipc",
			"peers map each other's memory by CUDA IPC, because rank 1 exports no file descriptors of its GPU's memory " +
				"(no files), " +
				"and rank 2 exports no fabric handles of its GPU's memory (no fabric)",
		},
		"asked for": {VMM, func(j *job) { j.virtual(0).cannot[0] = noFiles }, "vmm", "asked for"},
	} {
		t.Run(name, func(t *testing.T) {
			before := openFiles(t)
			j := newJob(3, vmms).with(Options{Kind: test.kind})
			j.virtual(2).granularity = 16384
			test.breaks(j)
			memories, errs := j.allocate(t)
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			for rank, m := range memories {
				if m.Backend != test.backend || m.Why != test.why || m.Bytes != 4096 {
					t.Errorf("rank %d: %d bytes by %s, %q; want %q", rank, m.Bytes, m.Backend, m.Why, test.why)
				}
				if size := j.virtual(rank).size; test.backend == "vmm" && size != 16384 {
					t.Errorf("rank %d has memory of %d bytes, which the others cannot map", rank, size)
				}
				for peer, ptr := range m.Peers {
					memory := memories[peer].Local
					if test.backend == "vmm" {
						memory = j.fabric.mapped[memory]
					}
					if peer != rank && j.fabric.mapped[ptr] != memory {
						t.Errorf("rank %d: pointer of rank %d leads to %#x", rank, peer, j.fabric.mapped[ptr])
					}
				}
			}
			j.free(t, memories)
			j.wantClean(t, before)
			j.wantNoImports(t)
		})
	}
}

func (j *job) wantNoImports(t *testing.T) {
	t.Helper()
	for rank := range j.devices {
		if n := j.virtual(rank).imported; n != 0 {
			t.Errorf("rank %d keeps %d imported handles", rank, n)
		}
	}
}

func TestVMMFailsOnAllRanks(t *testing.T) {
	for name, test := range map[string]struct {
		options     Options
		breaks      func(*job)
		want        string
		is          error // on all ranks
		unreachable bool
	}{
		"no export": {
			Options{Kind: VMM},
			func(j *job) { j.virtual(1).cannot = [2]error{errors.New("no files"), errors.New("no fabric")} },
			"kind vmm: rank 1 exports no file descriptors of its GPU's memory (no files), and rank 1 exports no fabric handles",
			nil, false,
		},
		"no export for multicast": {
			Options{Multicast: true},
			func(j *job) { j.virtual(1).cannot = [2]error{errors.New("no files"), errors.New("no fabric")} },
			"have no multicast address; symmetric memory of kind auto: rank 1 exports no file descriptors", ErrNoMulticast,
			false,
		},
		"no peer access": {
			Options{},
			func(j *job) {
				j.virtual(2).openErr = &cudart.Error{Op: "cuMemSetAccess", Code: cudart.ErrInvalidDevice}
			},
			"the GPU of rank 2 cannot reach the GPU of rank 0 peer to peer", nil, true,
		},
		"no mapping": {
			Options{},
			func(j *job) {
				j.virtual(2).openErr = &cudart.Error{Op: "cuMemSetAccess", Code: cudart.ErrNotSupported}
			},
			"the GPU of rank 2 cannot reach the GPU of rank 0 peer to peer", nil, true,
		},
		"no import": {
			Options{Kind: VMM},
			func(j *job) {
				j.virtual(2).importErr = &cudart.Error{Op: "cuMemImportFromShareableHandle", Code: cudart.ErrNotSupported}
			},
			"rank 2: mapping memory of rank 0: cuMemImportFromShareableHandle", nil, false,
		},
		"no addresses": {
			Options{Kind: VMM},
			func(j *job) {
				j.virtual(2).openErr = &cudart.Error{Op: "cuMemAddressReserve", Code: cudart.ErrOutOfMemory}
			},
			"rank 2: mapping memory of rank 0: cuMemAddressReserve", nil, false,
		},
		"kinds differ": {
			Options{},
			func(j *job) { j.options[1].Kind = VMM },
			"the same backend everywhere: vmm or ipc on rank 0,2; vmm on rank 1", nil, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			allowMulticast(t)
			before := openFiles(t)
			j := newJob(3, vmms).with(test.options)
			test.breaks(j)
			_, errs := j.allocate(t)
			for rank, err := range errs {
				if err == nil || !strings.Contains(err.Error(), test.want) || test.is != nil && !errors.Is(err, test.is) {
					t.Errorf("rank %d: got %v, want %q", rank, err, test.want)
				}
				if got := errors.As(err, new(*NoPeerAccessError)); got != test.unreachable {
					t.Errorf("rank %d: unreachable: %v: %v", rank, got, err)
				}
			}
			j.wantClean(t, before)
			j.wantNoImports(t)
		})
	}
}

// Where VMM fails after all, memory is shared by IPC, and it is said why.
func TestVMMThatFailsGivesWayToIPC(t *testing.T) {
	before := openFiles(t)
	j := newJob(3, vmms)
	j.virtual(2).mapErr = &cudart.Error{Op: "cuMemAddressReserve", Code: cudart.ErrOutOfMemory}
	memories, errs := j.allocate(t)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	for rank, m := range memories {
		const why = "because VMM failed: rank 2: mapping memory of rank 0: cuMemAddressReserve"
		if m.Backend != "ipc" || !strings.Contains(m.Why, why) || strings.Contains(m.Why, "\n") {
			t.Errorf("rank %d: %s: %s", rank, m.Backend, m.Why)
		}
	}
	errs = j.each(func(rank int) error { return memories[rank].Free(t.Context()) })
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	j.wantClean(t, before)
	j.wantNoImports(t)
}
