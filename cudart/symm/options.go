package symm

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// Options says what kind of symmetric memory to allocate. All ranks pass the
// same, except for OnStep. The zero value is the device's own memory without a multicast address.
type Options struct {
	Kind Kind
	// Why says in a clause why it is that kind, where nobody asked for it by name.
	Why string
	// Multicast asks for an address that means the memory of all ranks. A kind
	// that cannot have one is refused; where only these devices have none,
	// [Memory].MulticastWhy says so.
	Multicast bool
	// AcrossMachines lets NVSHMEM leave the memory of ranks on other machines
	// unmapped: it reaches them itself, and their entries of [Memory].Peers are 0.
	AcrossMachines bool
	// NVSHMEM is the library for NVSHMEMHeap, which nothing else needs.
	NVSHMEM NVSHMEM
	// OnStep, which may be nil, is called before each step that takes time.
	OnStep func(Step)
}

// Step is one of the steps of [Allocate].
type Step int

// The steps, in their order. They begin once all ranks know how memory is shared.
const (
	Allocating Step = iota // the own memory
	Exchanging             // handles, with ranks that may not be there yet
	Mapping                // the peers' memory
)

func (o Options) onStep(s Step) {
	if o.OnStep != nil {
		o.OnStep(s)
	}
}

func (o Options) kind() Kind {
	if o.Kind == "" {
		return Auto
	}
	return o.Kind
}

// MulticastForbidden returns the assignment, such as "NCCL_NVLS_ENABLE=0", by
// which the environment forbids the creation of multicast objects, or "". On a
// machine whose GPUs others share such an object can take them out of service.
// The variables are those of NCCL, NVSHMEM and PyTorch, and values that begin
// like 0, no or false count as off, as NVSHMEM reads them.
func MulticastForbidden(getenv func(string) string) string {
	for _, variable := range []struct {
		name   string
		allows bool // when it is on
	}{
		{"NCCL_NVLS_ENABLE", true},
		{"NVSHMEM_DISABLE_NVLS", false},
		{"TORCH_SYMM_MEM_DISABLE_MULTICAST", false},
	} {
		value := getenv(variable.name)
		text := strings.TrimSpace(value)
		if text == "" {
			continue
		}
		if on := !strings.ContainsAny(text[:1], "0nNfF"); on != variable.allows {
			return variable.name + "=" + value
		}
	}
	return ""
}

// supportingMulticast leaves the backends that can give a multicast address, and refuses
// it where none can or where it must not be. The simulator's is no object of the
// machine's, and never forbidden.
func supportingMulticast(ways []backend) ([]backend, error) {
	onGPUs := slices.ContainsFunc(ways, func(b backend) bool { return b.kind().Traits().OnGPUs })
	if assignment := MulticastForbidden(os.Getenv); assignment != "" && onGPUs {
		return nil, fmt.Errorf("%s forbids multicast objects", assignment)
	}
	able := slices.DeleteFunc(slices.Clone(ways), func(b backend) bool { return !b.kind().Traits().Multicast })
	if len(able) == 0 {
		return nil, ErrNoMulticast
	}
	return able, nil
}
