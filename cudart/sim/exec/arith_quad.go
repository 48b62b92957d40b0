package exec

import "unsafe"

// The loops that kernels spend their time in take four lanes at a time, through pointers
// that need no further checks: a lane costs half of what it does in a plain loop.

// quad is four lanes of a register.
type quad [4]uint64

// quadBytes is the size of a quad, and lanesBytes that of a register.
const (
	quadBytes  = int(unsafe.Sizeof(quad{}))
	lanesBytes = int(unsafe.Sizeof(lanes{}))
)

// quadF32 is a quad of singles, which are in the low halves.
type quadF32 [4]struct{ low, high float32 }

// quadAt is the quad that begins at a byte of a register.
func quadAt(v *lanes, at int) *quad { return (*quad)(unsafe.Add(unsafe.Pointer(v), at)) }

func quadF32At(v *lanes, at int) *quadF32 {
	return (*quadF32)(unsafe.Add(unsafe.Pointer(v), at))
}
