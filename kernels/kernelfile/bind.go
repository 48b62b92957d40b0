package kernelfile

import "gpurun/cudart"

// Call is what expressions are evaluated over, for one call of one rank.
type Call struct {
	Rank, World, Root int
	Type, Op          string // canonical names; Op is "none" where nothing is reduced
	ElementBytes      int64
	Count             int64 // elements of a part
	InPlace           bool
	SMs               int   // the least number of multiprocessors among the ranks' devices
	Number            int64 // of the call, from 0 on, counted since signals were initialized
	TimeoutNS         int64
	// M, N and K are the extents of a product of matrices.
	M, N, K int64
}

// Memory gives addresses to Bind.
type Memory interface {
	// Address is where a rank's buffer begins, as this rank's device sees it.
	Address(buffer string, rank int) (uint64, error)
	// Multicast is the multicast address of a buffer.
	Multicast(buffer string) (uint64, error)
	// Table is the address of device memory with this content.
	Table(content []byte) (uint64, error)
	// TensorMap encodes a tensor map for this rank's device.
	TensorMap(m cudart.TensorMap) ([cudart.TensorMapBytes]byte, error)
}

// BoundStep is a step of a call with all its expressions evaluated.
type BoundStep struct {
	Step   *Step
	Module string // key of Bundle.Modules
	Entry  string
	Launch cudart.Launch
	Params []byte
	Fields []Field // of Params, in order
	// Patches are the fields that depend on the number of the call.
	Patches []Patch
	// To, From, Bytes and Value are those of a Fill or a Copy.
	To, From cudart.DevicePtr
	Bytes    int64
	Value    byte
}

// Field describes one argument, for people.
type Field struct {
	At, Bytes int
	What      string // such as "u64 count" or "pointer pad of rank 2"
	Line      int
}

// Patch is a number among the parameters that depends on the number of the call.
type Patch struct {
	At   int
	Type string
	Value Expr
}
