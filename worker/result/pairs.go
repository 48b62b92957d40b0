package result

// Pair is what was measured of the link from one rank's device to another's.
type Pair struct {
	From int `json:"from"`
	To   int `json:"to"`
	// Written compares To's memory, read by To, with the pattern that a kernel on From had
	// stored there. ReadBack compares the same memory, read by From.
	Written  Compared `json:"written"`
	ReadBack Compared `json:"read_back"`
	// CopyGBs is the bandwidth of copies from From to To by the copy engines, in
	// GB/s, 1e9 bytes per second, by the median, while no other pair copies. In the simulator all pairs copy.
	CopyGBs float64 `json:"copy_gbs"`
	// LoadedGBs is the same while every rank copies to one rank and receives from one.
	LoadedGBs float64 `json:"loaded_gbs"`
	// LatencyNS is the mean time of a load from To's memory by a thread on From, in
	// nanoseconds. Each of the loads depends on the one before.
	LatencyNS float64 `json:"latency_ns"`
}

// Compared is the outcome of comparing memory with a pattern.
type Compared struct {
	Words int64 `json:"words"` // of 8 bytes
	Wrong int64 `json:"wrong"`
	First int64 `json:"first_wrong"` // word; -1: none is wrong
}

// Wrong reports whether any word was not what had been written.
func (p Pair) Wrong() bool { return p.Written.Wrong > 0 || p.ReadBack.Wrong > 0 }
