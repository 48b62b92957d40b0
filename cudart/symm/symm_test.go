package symm

import (
	"context"
	"errors"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"gpurun/cudart"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// job is a world of ranks in one process.
type job struct {
	fabric  *fabric
	hub     *hub
	devices []cudart.Device
	members []member
	bytes   []int64
	options []Options
}

func newJob(world int, wrap func(*device) cudart.Device) *job {
	j := &job{fabric: newFabric(), hub: newHub(world)}
	for rank := range world {
		j.devices = append(j.devices, wrap(&device{fabric: j.fabric}))
		j.members = append(j.members, member{hub: j.hub, rank: rank})
		j.bytes = append(j.bytes, 4096)
		j.options = append(j.options, Options{})
	}
	return j
}

func handles(d *device) cudart.Device { return byHandle{d} }
func files(d *device) cudart.Device   { return byFile{d} }

// with gives all ranks the same options.
func (j *job) with(o Options) *job {
	for rank := range j.options {
		j.options[rank] = o
	}
	return j
}

// each runs f once per rank, all at the same time, and returns their errors.
func (j *job) each(f func(rank int) error) []error {
	errs := make([]error, j.hub.world)
	var wg sync.WaitGroup
	for rank := range errs {
		wg.Go(func() { errs[rank] = f(rank) })
	}
	wg.Wait()
	return errs
}

func (j *job) allocate(t *testing.T) ([]*Memory, []error) {
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	memories := make([]*Memory, j.hub.world)
	errs := j.each(func(rank int) (err error) {
		memories[rank], err = Allocate(ctx, j.devices[rank], j.members[rank], j.bytes[rank], j.options[rank])
		return err
	})
	return memories, errs
}

// free frees what allocate returned.
func (j *job) free(t *testing.T, memories []*Memory) {
	t.Helper()
	errs := j.each(func(rank int) error { return memories[rank].Free(t.Context()) })
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
}

// wantClean checks that no memory, mapping or file is left, and that nothing
// was freed under a peer's feet.
func (j *job) wantClean(t *testing.T, filesBefore int) {
	t.Helper()
	f := j.fabric
	if len(f.mappers)+len(f.mapped)+len(f.hosts)+len(f.multicasts) != 0 {
		t.Errorf("left behind: memory %v, mappings %v, host memory %v, multicast addresses %v", f.mappers, f.mapped, f.hosts,
			f.multicasts)
	}
	if len(j.fabric.early) != 0 {
		t.Errorf("freed too early: %v", j.fabric.early)
	}
	if now := openFiles(t); now != filesBefore {
		t.Errorf("%d files are open, %d were open before", now, filesBefore)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestAllocateMapsEveryRankAndFreeReleasesAll(t *testing.T) {
	for name, wrap := range map[string]func(*device) cudart.Device{"ipc": handles, "sim": files} {
		t.Run(name, func(t *testing.T) {
			before := openFiles(t)
			j := newJob(4, wrap)
			for range 2 { // the second allocation reuses the names of the rounds
				memories, errs := j.allocate(t)
				if err := errors.Join(errs...); err != nil {
					t.Fatal(err)
				}
				for rank, m := range memories {
					if m.Backend != name || m.Bytes != 4096 || m.Peers[rank] != m.Local {
						t.Errorf("rank %d: %+v", rank, m)
					}
					for peer, ptr := range m.Peers {
						if peer != rank && j.fabric.mapped[ptr] != memories[peer].Local {
							t.Errorf("rank %d: pointer of rank %d leads to %#x", rank, peer, j.fabric.mapped[ptr])
						}
					}
				}
				for range 2 { // a second Free does nothing
					errs = j.each(func(rank int) error { return memories[rank].Free(t.Context()) })
					if err := errors.Join(errs...); err != nil {
						t.Error(err)
					}
				}
				j.wantClean(t, before)
			}
		})
	}
}

// TestOneRankFails checks for every way in which one rank can fail that all
// ranks hear of it, and that everything is released.
func TestOneRankFails(t *testing.T) {
	garble := func(at string) func(*job) {
		return func(j *job) {
			j.members[2].tamper = func(round string, mine []byte) []byte {
				if round == at {
					return []byte("garbage")
				}
				return mine
			}
		}
	}
	refuse := func(code cudart.Result) func(*job) {
		return func(j *job) {
			broken := &device{fabric: j.fabric, openErr: &cudart.Error{Op: "cuIpcOpenMemHandle_v2", Code: code}}
			j.devices[1] = byHandle{broken}
		}
	}
	for name, test := range map[string]struct {
		wrap   func(*device) cudart.Device
		breaks func(*job)
		want   []string
	}{
		"sizes differ": {
			handles, func(j *job) { j.bytes[1] = 8192 },
			[]string{"same size", "4096 bytes on rank 0,2", "8192 bytes on rank 1"},
		},
		"no size": {handles, func(j *job) { j.bytes[0] = 0 }, []string{"rank 0", "must be positive"}},
		"out of memory": {files, func(j *job) {
			j.devices[1] = byFile{
				&device{fabric: j.fabric, mallocErr: &cudart.Error{Op: "cuMemAlloc_v2", Code: cudart.ErrOutOfMemory}},
			}
		}, []string{"rank 1", "allocating 4096 bytes", "CUDA_ERROR_OUT_OF_MEMORY"}},
		"backends differ": {
			handles, func(j *job) { j.devices[2] = byFile{&device{fabric: j.fabric}} },
			[]string{"same backend", "ipc on rank 0,1", "sim on rank 2"},
		},
		"no backend": {
			handles, func(j *job) { j.devices[2] = &device{fabric: j.fabric} }, []string{"rank 2", "no way to share"},
		},
		"garbage report": {handles, garble(stepAllocated), []string{"report of rank 2 at symm/allocated"}},
		"garbage handle": {handles, garble(stepHandles), []string{"mapping memory of rank 2", "7 bytes instead of 64"}},
		"no peer access": {
			handles, refuse(217), []string{"GPU of rank 1 cannot reach the GPU of rank 0", "rank 2 peer to peer"},
		},
		"too few files": {
			files, func(j *job) { j.members[0].short = true },
			[]string{"rank 0: exchanging memory handles: received 2 answers from 3 ranks"},
		},
		"import fails": {
			handles, refuse(cudart.ErrOutOfMemory), []string{"rank 1: mapping memory of rank 0", "OUT_OF_MEMORY"},
		},
		"import of files fails": {files, func(j *job) {
			j.devices[0] = byFile{&device{fabric: j.fabric, openErr: errors.New("not memory")}}
		}, []string{"rank 0: mapping memory of rank 1: not memory"}},
	} {
		t.Run(name, func(t *testing.T) {
			before := openFiles(t)
			j := newJob(3, test.wrap)
			test.breaks(j)
			memories, errs := j.allocate(t)
			for rank, err := range errs {
				if err == nil || memories[rank] != nil {
					t.Fatalf("rank %d: got %v, %v; want an error", rank, memories[rank], err)
				}
				for _, want := range test.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("rank %d: %q lacks %q", rank, err, want)
					}
				}
			}
			j.wantClean(t, before)
		})
	}
}

func TestOwnFailureKeepsItsCode(t *testing.T) {
	j := newJob(2, handles)
	j.devices[0] = byHandle{
		&device{fabric: j.fabric, mallocErr: &cudart.Error{Op: "cuMemAlloc_v2", Code: cudart.ErrOutOfMemory}},
	}
	_, errs := j.allocate(t)
	if got := errors.Is(errs[0], cudart.ErrOutOfMemory); !got {
		t.Errorf("errors.Is out of memory is %v for %v", got, errs[0])
	}
}

func TestMissingPeerEndsWithContext(t *testing.T) {
	j := newJob(2, handles)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Allocate(ctx, j.devices[0], j.members[0], 4096, Options{})
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), stepBackend) {
		t.Errorf("got %v", err)
	}
	j.wantClean(t, openFiles(t))
}

func TestFreeKeepsMemoryThatAPeerMayStillMap(t *testing.T) {
	j := newJob(2, handles)
	memories, errs := j.allocate(t)
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	local := memories[0].Local
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := memories[0].Free(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("Free without the peer: %v", err)
	}
	if diff := cmp.Diff(1, j.fabric.mappers[local]); diff != "" {
		t.Errorf("mappings of the kept memory: %s", diff)
	}
	if len(j.fabric.early) != 0 {
		t.Error(j.fabric.early)
	}
}

func FuzzDecodeReport(f *testing.F) {
	for _, text := range []string{
		`{"bytes":4096,"backend":"ipc"}`, `{"failure":"no","unreachable":-1,"multicast":true}`, `{"failure":"out of memory"}`,
		`{"bytes":-1}`, `{"bytes":1e99}`,
		``, `null`, `[]`, `garbage`, `{"bytes":"4096"}`, strings.Repeat("x", maxReport+1),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := decode(text)
		if err != nil && !cmp.Equal(r, report{}) {
			t.Errorf("error %v came with %+v", err, r)
		}
		if err == nil && len(text) > maxReport {
			t.Errorf("accepted %d bytes", len(text))
		}
	})
}
