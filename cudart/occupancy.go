package cudart

// Occupier is a kernel whose device tells how many of its blocks can be resident at once.
type Occupier interface {
	// ResidentBlocks is how many blocks of a launch of this shape the device can hold at once, if nothing else runs
	// there.
	ResidentBlocks(shape Launch) (int, error)
}
