package symm

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
)

// heap is what the fake NVSHMEM libraries of all ranks have in common.
type heap struct {
	hub  *hub
	mu   sync.Mutex
	live map[string]int // what was made and not given back
}

// library is one rank's NVSHMEM. A collective call returns when all ranks have
// called it, or fails after a while, where a real one would block for ever.
type library struct {
	heap  *heap
	rank  int
	fails string // the call that fails here
	calls []string
	// unmapped is a peer whose memory is not mapped here, and multicast whether
	// there is an address of all.
	unmapped  int
	multicast bool
}

var errLibrary = errors.New("the library says no")

func (l *library) call(name string) error {
	l.calls = append(l.calls, name)
	if l.fails == name {
		return errLibrary
	}
	return nil
}

func (l *library) meet(name string) error {
	err := l.call(name)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	_, err = l.heap.hub.gather(ctx, name, l.rank, true)
	return err
}

func (l *library) count(what string, n int) {
	l.heap.mu.Lock()
	defer l.heap.mu.Unlock()
	if l.heap.live[what] += n; l.heap.live[what] == 0 {
		delete(l.heap.live, what)
	}
}

func uniqueID() (id [128]byte) {
	for i := range id {
		id[i] = byte(i)
	}
	return id
}

func (l *library) NewUniqueID() ([128]byte, error) { return uniqueID(), l.call("NewUniqueID") }

func (l *library) Init(rank, world int, id [128]byte, device int) error {
	if rank != l.rank || world != l.heap.hub.world || id != uniqueID() || device != 70+rank {
		return fmt.Errorf("rank %d of %d on device %d with id %x", rank, world, device, id)
	}
	if err := l.meet("Init"); err != nil {
		return err
	}
	l.count("initialized", 1)
	return nil
}

func (l *library) Malloc(bytes int64) (cudart.DevicePtr, error) {
	if err := l.meet(fmt.Sprint("Malloc ", bytes)); err != nil {
		return 0, err
	}
	l.count("memory", 1)
	return cudart.DevicePtr(0x1000 * (l.rank + 1)), nil
}

// Ptr is the owner's address and the rank that maps it.
func (l *library) Ptr(ptr cudart.DevicePtr, pe int) cudart.DevicePtr {
	if ptr != cudart.DevicePtr(0x1000*(l.rank+1)) || pe == l.unmapped {
		return 0
	}
	return cudart.DevicePtr(0x1000*(pe+1) + l.rank)
}

func (l *library) MulticastPtr(cudart.DevicePtr) cudart.DevicePtr {
	l.calls = append(l.calls, "MulticastPtr")
	if !l.multicast {
		return 0
	}
	return 0x9000
}

func (l *library) Free(cudart.DevicePtr) error {
	if err := l.meet("Free"); err != nil {
		return err
	}
	l.count("memory", -1)
	return nil
}

// Finalize frees the heap and what was allocated of it.
func (l *library) Finalize() error {
	if err := l.meet("Finalize"); err != nil {
		return err
	}
	l.count("initialized", -1)
	l.heap.mu.Lock()
	defer l.heap.mu.Unlock()
	delete(l.heap.live, "memory")
	return nil
}

// gpu is a fake GPU of some ordinal.
type gpu struct {
	byHandle
	ordinal int
}

func (g gpu) Info() cudart.Info {
	return cudart.Info{Name: "fake", Backend: "test", Ordinal: g.ordinal}
}

// nvshmemJob gives each rank a library.
func nvshmemJob(world int, o Options) (*job, []*library) {
	j := newJob(world, handles)
	h := &heap{hub: newHub(world), live: map[string]int{}}
	libraries := make([]*library, world)
	for rank := range world {
		libraries[rank] = &library{heap: h, rank: rank, unmapped: -1}
		o.Kind, o.NVSHMEM = NVSHMEMHeap, libraries[rank]
		j.options[rank] = o
		j.devices[rank] = gpu{byHandle{&device{fabric: j.fabric}}, 70 + rank}
	}
	return j, libraries
}

func TestNVSHMEMAllocatesAndMaps(t *testing.T) {
	for name, multicast := range map[string]bool{"with NVLS": true, "without NVLS": false} {
		t.Run(name, func(t *testing.T) {
			allowMulticast(t)
			j, libraries := nvshmemJob(3, Options{Multicast: true})
			for _, l := range libraries {
				l.multicast = multicast
			}
			memories, errs := j.allocate(t)
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			for rank, m := range memories {
				at := cudart.DevicePtr(rank)
				want := []cudart.DevicePtr{0x1000 + at, 0x2000 + at, 0x3000 + at}
				want[rank] = m.Local
				if diff := cmp.Diff(want, m.Peers); diff != "" || m.Backend != "nvshmem" || m.Why != "asked for" {
					t.Errorf("rank %d: %+v: %s", rank, m, diff)
				}
				if (m.Multicast == 0x9000) != multicast || strings.Contains(m.MulticastWhy, "NVSHMEM has none") == multicast {
					t.Errorf("rank %d: multicast address %#x, %q", rank, m.Multicast, m.MulticastWhy)
				}
			}
			j.free(t, memories)
			for rank, l := range libraries {
				want := []string{"NewUniqueID", "Init", "Malloc 4096", "MulticastPtr", "Free", "Finalize"}
				if diff := cmp.Diff(want[min(rank, 1):], l.calls); diff != "" {
					t.Errorf("calls of rank %d: %s", rank, diff)
				}
			}
			if live := libraries[0].heap.live; len(live) != 0 {
				t.Errorf("left behind: %v", live)
			}
		})
	}
}

// TestNVSHMEMFailsOnAllRanks has one rank fail, and nobody enter a collective call
// that a rank does not come to.
func TestNVSHMEMFailsOnAllRanks(t *testing.T) {
	for name, test := range map[string]struct {
		breaks func(*job, []*library)
		want   string
		last   string // call on rank 0
	}{
		"no library": {
			func(j *job, _ []*library) { j.options[2].NVSHMEM = nil },
			"kind nvshmem: rank 2 has no NVSHMEM library", "NewUniqueID",
		},
		"no id": {
			func(_ *job, l []*library) { l[0].fails = "NewUniqueID" },
			"rank 0 makes no NVSHMEM unique id (the library says no)", "NewUniqueID",
		},
		"init": {
			func(_ *job, l []*library) { failEverywhere(l, "Init") },
			"rank 1: initializing NVSHMEM: the library says no", "Init",
		},
		"malloc": {
			func(_ *job, l []*library) { failEverywhere(l, "Malloc 4096") },
			"rank 1: allocating 4096 bytes of symmetric memory: the library says no", "Finalize",
		},
		"unmapped": {
			func(_ *job, l []*library) { l[1].unmapped = 2 },
			"the GPU of rank 1 cannot reach the GPU of rank 2 peer to peer", "Finalize",
		},
		"short id": {
			func(j *job, _ []*library) {
				j.members[0].tamper = func(round string, mine []byte) []byte {
					if round != stepBackend {
						return mine
					}
					return []byte(`{"bytes":4096,"backend":"nvshmem","facts":{"unique_id":"AAEC"}}`)
				}
			},
			"the NVSHMEM unique id of rank 0 has 3 bytes instead of 128", "NewUniqueID",
		},
	} {
		t.Run(name, func(t *testing.T) {
			j, libraries := nvshmemJob(3, Options{})
			test.breaks(j, libraries)
			_, errs := j.allocate(t)
			for rank, err := range errs {
				if err == nil || !strings.Contains(err.Error(), test.want) {
					t.Errorf("rank %d: got %v, want %q", rank, err, test.want)
				}
				if got := errors.As(err, new(*NoPeerAccessError)); got != (name == "unmapped") {
					t.Errorf("rank %d: unreachable: %v", rank, got)
				}
				if errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("rank %d waited for a rank that did not come: %v", rank, err)
				}
			}
			if calls := libraries[0].calls; calls[len(calls)-1] != test.last {
				t.Errorf("rank 0 called %q, want %s last", calls, test.last)
			}
			if live := libraries[0].heap.live; len(live) != 0 {
				t.Errorf("left behind: %v", live)
			}
		})
	}
}

// failEverywhere has a collective call fail as it does with a real library, on all
// ranks.
func failEverywhere(libraries []*library, call string) {
	for _, l := range libraries {
		l.fails = call
	}
}

// TestNVSHMEMThatFailsOnOneRankIsLeftAlone has Malloc succeed on all ranks but one:
// only Finalize, which all of them can call, gives the memory back.
func TestNVSHMEMThatFailsOnOneRankIsLeftAlone(t *testing.T) {
	j, libraries := nvshmemJob(2, Options{})
	libraries[1].fails = "Malloc 4096"
	// The call of rank 0 finds rank 1 there, and goes on.
	libraries[0].heap.hub.round["Malloc 4096"] = &round{values: make([]any, 2), left: 1, full: make(chan struct{})}
	_, errs := j.allocate(t)
	for rank, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "rank 1: allocating") {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
	for rank, l := range libraries {
		if slices.Contains(l.calls, "Free") || !slices.Contains(l.calls, "Finalize") {
			t.Errorf("rank %d called %q", rank, l.calls)
		}
	}
	if live := libraries[0].heap.live; len(live) != 0 {
		t.Errorf("left behind: %v", live)
	}
}

// TestNVSHMEMIsNotLeftWithoutAPeer has one rank wait at the end of the allocation for
// another that does not come, and not go on to wait in the library.
func TestNVSHMEMIsNotLeftWithoutAPeer(t *testing.T) {
	j, libraries := nvshmemJob(2, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	j.members[0].tamper = func(round string, mine []byte) []byte {
		if round == stepAllocated {
			cancel()
		}
		return mine
	}
	errs := j.each(func(rank int) error {
		_, err := Allocate(ctx, j.devices[rank], lateAtOffer{j.members[rank]}, 4096, j.options[rank])
		return err
	})
	for rank, err := range errs {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("rank %d: %v", rank, err)
		}
		if slices.Contains(libraries[rank].calls, "Finalize") {
			t.Errorf("rank %d called %q", rank, libraries[rank].calls)
		}
	}
}

// lateAtOffer is a member that does not come to a round before its context ends.
type lateAtOffer struct{ member }

func (m lateAtOffer) AllGather(ctx context.Context, name string, mine []byte) ([][]byte, error) {
	if name == stepAllocated && m.rank == 1 {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	return m.member.AllGather(ctx, name, mine)
}

// The memory of a rank on another machine is reached by NVSHMEM alone.
func TestNVSHMEMAcrossMachines(t *testing.T) {
	for name, across := range map[string]bool{"one machine": false, "across machines": true} {
		t.Run(name, func(t *testing.T) {
			j, libraries := nvshmemJob(2, Options{AcrossMachines: across})
			libraries[0].unmapped, libraries[1].unmapped = 1, 0
			memories, errs := j.allocate(t)
			if !across {
				if !errors.As(errs[0], new(*NoPeerAccessError)) {
					t.Errorf("got %v", errs[0])
				}
				return
			}
			if err := errors.Join(errs...); err != nil {
				t.Fatal(err)
			}
			for rank, m := range memories {
				if m.Peers[rank] != m.Local || m.Peers[1-rank] != 0 {
					t.Errorf("rank %d: %+v", rank, m)
				}
			}
			j.free(t, memories)
		})
	}
}
