package symm

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/cudart"
)

// A backend has the trait Multicast if, and only if, it can make multicast addresses.
func TestMulticastTraitIsTheBackends(t *testing.T) {
	seen := map[Kind]bool{}
	for _, wrap := range []func(*device) cudart.Device{vmms, hosts, files} {
		j := newJob(2, wrap)
		for _, r := range table() {
			for _, b := range r.candidates(j.devices[0], &Memory{ex: j.members[0]}) {
				seen[b.kind()] = true
				if _, can := b.(multicaster); can != b.kind().Traits().Multicast {
					t.Errorf("%s: multicaster is %v, the trait %v", b.kind(), can, !can)
				}
			}
		}
	}
	if want := len(table()) - 1; len(seen) != want { // Auto is none of its own
		t.Errorf("%d of %d backends were made: %v", len(seen), want, seen)
	}
}

func TestNamesOfBackends(t *testing.T) {
	if diff := cmp.Diff([]string{"auto", "vmm", "ipc", "nvshmem", "host"}, Selectable()); diff != "" {
		t.Error(diff)
	}
	if got, want := Kind("").Traits(), Auto.Traits(); got != want {
		t.Errorf("the empty kind has %+v, auto %+v", got, want)
	}
	if got := Kind("shm").Traits(); got != (Traits{}) {
		t.Errorf("an unknown kind has %+v", got)
	}
	for library, want := range map[string]Kind{"nvshmem": NVSHMEMHeap, "nccl_symmetric": VMM, "nccl": "", "": ""} {
		if got, ok := RequiredBy(library); got != want || ok != (want != "") {
			t.Errorf("memory of %q: %q, %v", library, got, ok)
		}
	}
}
