package symm

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"gpurun/cudart"
)

// Traits are what a memory backend offers and what it needs. They hold for the backend by itself:
// whether a device has what it needs, the backend finds out in [Allocate].
type Traits struct {
	// Title names the memory in a sentence.
	Title string
	// Selectable: a job can ask for it by name.
	Selectable bool
	// OnGPUs and Simulated: which devices have it.
	OnGPUs, Simulated bool
	// PeerAccess: it needs GPUs that have access to their peers' memory.
	PeerAccess bool
	// Multicast: it can have a multicast address.
	Multicast bool
	// AcrossMachines: ranks may be on several machines.
	AcrossMachines bool
	// HostMemory: it lies in the host's memory, which is slow for GPUs. Buffers that no peer
	// touches belong in the device's own.
	HostMemory bool
	// Library names the library whose symmetric heap it is, which also is the name of that library's
	// algorithms; empty is none.
	Library string
	// RegisteredBy names a library's algorithms that register the memory with the library; empty
	// is none.
	RegisteredBy string
}

// row describes one memory backend.
type row struct {
	kind   Kind
	traits Traits
	// candidates are the ways that a device has of sharing memory so, best first.
	candidates func(cudart.Device, *Memory) []backend
}

// table lists the memory backends, Auto first. Whatever depends on the backend, here and in the
// importers, asks for a trait.
func table() []row {
	return []row{
		{Auto, Traits{
			Title: "memory", Selectable: true, OnGPUs: true, Simulated: true,
			Multicast: true, AcrossMachines: true, // where it becomes Private
		}, autoCandidates},
		{VMM, Traits{
			Title: "VMM memory", Selectable: true, OnGPUs: true, PeerAccess: true, Multicast: true,
			RegisteredBy: "nccl_symmetric",
		}, vmmCandidates},
		{IPC, Traits{Title: "CUDA IPC memory", Selectable: true, OnGPUs: true, PeerAccess: true}, ipcCandidates},
		{NVSHMEMHeap, Traits{
			Title: "NVSHMEM memory", Selectable: true, OnGPUs: true,
			PeerAccess: true, Multicast: true, AcrossMachines: true, Library: "nvshmem",
		}, nvshmemCandidates},
		{
			Host,
			Traits{Title: "host memory", Selectable: true, OnGPUs: true, Simulated: true, HostMemory: true},
			hostCandidates,
		},
		{Private, Traits{Title: "private memory", OnGPUs: true, Simulated: true, AcrossMachines: true}, privateCandidates},
		{Simulated, Traits{Title: "simulated memory", Simulated: true, Multicast: true}, simCandidates},
	}
}

// autoCandidates are the ways of the backends that Auto tries, in that order.
func autoCandidates(dev cudart.Device, m *Memory) []backend {
	return slices.Concat(vmmCandidates(dev, m), ipcCandidates(dev, m), simCandidates(dev, m))
}

// Traits are those of the backend of that name, Auto's for an empty one. An unknown name has none.
func (k Kind) Traits() Traits {
	for _, r := range table() {
		if r.kind == cmp.Or(k, Auto) {
			return r.traits
		}
	}
	return Traits{}
}

// Selectable lists the names that a job can ask for, "auto" first.
func Selectable() []string {
	var names []string
	for _, r := range table() {
		if r.traits.Selectable {
			names = append(names, string(r.kind))
		}
	}
	return names
}

// RequiredBy returns the backend whose memory a library's algorithms need: the library's symmetric
// heap, or memory that can be registered with the library. ok is false if any memory will do.
func RequiredBy(library string) (k Kind, ok bool) {
	for _, r := range table() {
		if library != "" && (r.traits.Library == library || r.traits.RegisteredBy == library) {
			return r.kind, true
		}
	}
	return "", false
}

// ErrNoMulticast says that the chosen kind of memory cannot have a multicast address.
var ErrNoMulticast = errNoMulticast()

func errNoMulticast() error {
	var titles []string
	for _, r := range table() {
		if !r.traits.Multicast {
			titles = append(titles, r.traits.Title)
		}
	}
	last := len(titles) - 1
	return errors.New(strings.Join(titles[:last], ", ") + " and " + titles[last] + " have no multicast address")
}
