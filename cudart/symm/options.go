package symm

import (
	"errors"
	"fmt"
	"os"
	"strings"
)

// Options says what kind of symmetric memory to allocate. All ranks pass the
// same. The zero value is the device's own memory without a multicast address.
type Options struct {
	// Host puts the memory into the host's, which every GPU of the machine
	// reaches without peer access, and slowly. Over PCIe, atomics that read and
	// write are not atomic among GPUs there; loads and stores keep their order.
	Host bool
	// Multicast asks for an address that means the memory of all ranks.
	Multicast bool
}

// ErrNoMulticast says that the chosen kind of memory cannot have a multicast
// address.
var ErrNoMulticast = errors.New("CUDA IPC memory and host memory have no multicast address")

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

// admitMulticast refuses a multicast address that b cannot give, or must not.
// The simulator's is no object of the machine's, and never forbidden.
func admitMulticast(b backend) error {
	_, simulated := b.(sim)
	if assignment := MulticastForbidden(os.Getenv); assignment != "" && !simulated {
		return fmt.Errorf("%s forbids multicast objects", assignment)
	}
	if _, ok := b.(multicaster); !ok {
		return ErrNoMulticast
	}
	return nil
}
