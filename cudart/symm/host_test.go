package symm

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"

	"gpurun/cudart"
	simulator "gpurun/cudart/sim"
)

func hosts(d *device) cudart.Device { return withHost{byHandle{d}} }

func TestHostMemoryIsMappedByEveryRank(t *testing.T) {
	before := openFiles(t)
	j := newJob(4, hosts).with(Options{Kind: Host})
	for rank := range j.bytes {
		j.bytes[rank] = 5000 // no whole pages
	}
	memories, errs := j.allocate(t)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	owners := map[uint64]int{}
	for rank, m := range memories {
		owners[j.fabric.hosts[m.Local]] = rank
		if m.Backend != "host" || m.Bytes != 5000 || m.Multicast != 0 {
			t.Errorf("rank %d: %+v", rank, m)
		}
	}
	for rank, m := range memories {
		for peer, ptr := range m.Peers {
			if owner, ok := owners[j.fabric.hosts[ptr]]; !ok || owner != peer {
				t.Errorf("rank %d: pointer of rank %d leads to memory of rank %d", rank, peer, owner)
			}
		}
	}
	if len(owners) != 4 || len(j.fabric.hosts) != 16 || len(j.fabric.mappers) != 0 {
		t.Errorf("%d files, %d mappings, %d of device memory", len(owners), len(j.fabric.hosts), len(j.fabric.mappers))
	}
	errs = j.each(func(rank int) error { return memories[rank].Free(t.Context()) })
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	j.wantClean(t, before)
}

// importsOnce maps its own memory and no peer's.
type importsOnce struct {
	withHost
	done bool
}

func (d *importsOnce) ImportHost(f *os.File) (cudart.DevicePtr, error) {
	if d.done {
		return 0, errors.New("no second import")
	}
	d.done = true
	return d.withHost.ImportHost(f)
}

func TestHostMemoryFailsOnAllRanks(t *testing.T) {
	for name, test := range map[string]struct {
		breaks func(*job)
		want   string
	}{
		"no host memory": {
			func(j *job) { j.devices[1] = byHandle{&device{fabric: j.fabric}} },
			"has no way to share memory so; it can do auto, ipc, nvshmem, private",
		},
		"refused": {func(j *job) {
			refusal := &cudart.Error{Op: "cuMemHostRegister_v2", Code: errPeerAccessUnsupported}
			j.devices[1] = withHost{byHandle{&device{fabric: j.fabric, hostErr: refusal}}}
		}, "CUresult 217"},
		"peer refused": {func(j *job) {
			j.devices[1] = &importsOnce{withHost: withHost{byHandle{&device{fabric: j.fabric}}}}
		}, "rank 1: mapping memory of rank 0: no second import"},
		"only one rank": {func(j *job) { j.options[1].Kind = Auto }, "same backend"},
		"machine too small": {
			func(j *job) { j.bytes = []int64{1 << 60, 1 << 60, 1 << 60} },
			"3 ranks want 1152921504606846976 bytes of host memory each",
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := openFiles(t)
			j := newJob(3, hosts).with(Options{Kind: Host})
			test.breaks(j)
			_, errs := j.allocate(t)
			for rank, err := range errs {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("rank %d: got %v, want %q", rank, err, test.want)
				}
				if errors.As(err, new(*NoPeerAccessError)) {
					t.Errorf("rank %d: host memory is out of reach: %v", rank, err)
				}
			}
			j.wantClean(t, before)
		})
	}
}

// TestSimulatorsShare has simulated devices write into each other's memory.
func TestSimulatorsShare(t *testing.T) {
	for name, o := range map[string]Options{"sim": {}, "sim with multicast": {Multicast: true}, "host": {Kind: Host}} {
		t.Run(name, func(t *testing.T) {
			before := openFiles(t)
			backend := simulator.New(3, simulator.Options{})
			j := newJob(3, func(*device) cudart.Device { return nil }).with(o)
			for rank := range j.devices {
				d, err := backend.Open(rank)
				if err != nil {
					t.Fatal(err)
				}
				j.devices[rank] = d
			}
			memories, errs := j.allocate(t)
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			for rank, m := range memories {
				next := (rank + 1) % 3
				wantShared(t, j.devices[rank], m.Peers[next], j.devices[next], memories[next].Local, byte('a'+rank))
				if !strings.HasPrefix(name, m.Backend) || o.Multicast != (m.Multicast != 0) {
					t.Errorf("rank %d: %+v", rank, m)
				}
			}
			errs = j.each(func(rank int) error { return memories[rank].Free(t.Context()) })
			for _, d := range j.devices {
				errs = append(errs, d.Close())
			}
			if err := errors.Join(errs...); err != nil {
				t.Error(err)
			}
			j.wantClean(t, before)
		})
	}
}

// wantShared writes by one device and reads by another.
func wantShared(t *testing.T, from cudart.Device, to cudart.DevicePtr, reader cudart.Device, at cudart.DevicePtr,
	value byte,
) {
	t.Helper()
	writing, err := from.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	reading, err := reader.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 4096)
	err = errors.Join(writing.Fill(to, value, 4096), writing.Synchronize(t.Context()), reading.Download(got, at))
	if want := bytes.Repeat([]byte{value}, 4096); err != nil || !bytes.Equal(got, want) {
		t.Errorf("read %q..., %v; want %q", got[:4], err, want[:4])
	}
}
