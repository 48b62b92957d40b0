package result

import "slices"

// Ceiling is what the links between the GPUs carry: nothing that moves a byte to a
// peer once for every byte of bus bandwidth can be faster.
type Ceiling struct {
	// CopyOut is the median rate at which each rank copies out to its peers while all
	// ranks do, in GB/s, 1e9 bytes per second, by rank: to one peer after the other or
	// to all at once, as Method says, whichever is faster for the slowest rank.
	CopyOut []float64 `json:"copy_out,omitempty"`
	Bytes   int64     `json:"bytes,omitempty"`   // of a copy
	Method  string    `json:"method,omitempty"`  // in words
	Skipped string    `json:"skipped,omitempty"` // why there is none; else empty
}

// CeilingRenderer is a Renderer that gets to know the ceiling, where it is measured:
// after Begin and before the first Add.
type CeilingRenderer interface {
	Renderer
	Ceiling(c Ceiling) error
}

// Rate is the slowest rank's, in GB/s: a collective is done when all ranks are. It is
// 0 where nothing was measured, which may be why c is nil.
func (c *Ceiling) Rate() float64 {
	if c == nil || len(c.CopyOut) == 0 {
		return 0
	}
	return slices.Min(c.CopyOut)
}
