package sim

import (
	"slices"

	"gpurun/cudart"
	"gpurun/cudart/sim/exec"
)

// arch is a compute capability that the simulator models, and the most shared memory of a block there
// (CUDA programming guide, "Compute Capabilities").
type arch struct {
	name         string
	major, minor int
	sharedBytes  int
}

var arches = [...]arch{
	{"8.0", 8, 0, 163 << 10},
	{"8.6", 8, 6, 99 << 10},
	{"8.9", 8, 9, 99 << 10},
	{"9.0", 9, 0, 227 << 10},
	{"10.0", 10, 0, 227 << 10},
}

// DefaultArch is the compute capability of a backend without Options.
const DefaultArch = "10.0"

// Arches are the names of the compute capabilities that the simulator models, such as "9.0".
func Arches() []string {
	var names []string
	for _, a := range arches {
		names = append(names, a.name)
	}
	return names
}

// ParseArch finds the major and minor number of a name that Arches has.
func ParseArch(name string) (major, minor int, ok bool) {
	i := slices.IndexFunc(arches[:], func(a arch) bool { return a.name == name })
	if i < 0 {
		return 0, 0, false
	}
	return arches[i].major, arches[i].minor, true
}

// sharedBytesOf is the most shared memory of a block of a device; of one that is not modeled the most of
// all.
func sharedBytesOf(info cudart.Info) int {
	for _, a := range arches {
		if a.major == info.Major && a.minor == info.Minor {
			return a.sharedBytes
		}
	}
	return exec.MaxSharedBytes
}

// MemoryModel says what of a vector access is one access.
type MemoryModel string

// The memory models. "" is HardwareMemory.
const (
	HardwareMemory MemoryModel = "hardware" // aligned accesses of 8 bytes and most of 16, as measured on GPUs
	PTXMemory      MemoryModel = "ptx"      // each element, which is all that PTX promises
)

// MemoryModels are the names of the memory models.
func MemoryModels() []string { return []string{string(HardwareMemory), string(PTXMemory)} }
