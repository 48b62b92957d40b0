package result

import "slices"

// Ceiling is the measured bandwidth of the links between the GPUs. It bounds the bus
// bandwidth of every algorithm that moves each byte of it over a link once.
type Ceiling struct {
	// CopyOut is the median rate at which each rank copies out to its peers while all
	// ranks do, in GB/s, 1e9 bytes per second, by rank: to one peer after the other or
	// to all at once, as Method says, whichever is faster for the slowest rank.
	CopyOut []float64 `json:"copy_out,omitempty"`
	Bytes   int64     `json:"bytes,omitempty"`   // of a copy
	Method  string    `json:"method,omitempty"`  // in words
	Skipped string    `json:"skipped,omitempty"` // why nothing was measured; else empty
}

// CeilingRenderer is a Renderer that prints the ceiling, if that is measured. Ceiling is
// called after Begin and before the first Add.
type CeilingRenderer interface {
	Renderer
	Ceiling(c Ceiling) error
}

// Rate is the slowest rank's, in GB/s: a collective is done when all ranks are. It is
// 0 where nothing was measured, and for a nil c.
func (c *Ceiling) Rate() float64 {
	if c == nil || len(c.CopyOut) == 0 {
		return 0
	}
	return slices.Min(c.CopyOut)
}
