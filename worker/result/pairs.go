package result

// Pair is what was found out about the link from one rank's device to another's.
type Pair struct {
	From int `json:"from"`
	To   int `json:"to"`
	// Written is what To found in its own memory of the pattern that a kernel on
	// From had stored there; ReadBack is what From found there itself.
	Written  Compared `json:"written"`
	ReadBack Compared `json:"read_back"`
	// CopyGBs is the bandwidth of copies from From to To by the copy engines, in
	// GB/s, 1e9 bytes per second, by the median, while no other pair copies; the simulator has all copy.
	CopyGBs float64 `json:"copy_gbs"`
	// LoadedGBs is the same while every rank copies to another and is copied to.
	LoadedGBs float64 `json:"loaded_gbs"`
	// LatencyNS is the time of one of many loads by a thread on From of To's
	// memory, in nanoseconds. Each load waits for the one before it.
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
