package check

import "gpurun/cudart/sim/exec"

// silence has numbers of chunks, plus 1, that were looked up lately and in which no word signals: those of most
// accesses.
type silence [16]uint64

func (s *silence) at(chunk uint64) *uint64 {
	return &s[(chunk^chunk>>(exec.RegionShift-16))%uint64(len(s))]
}

func (s *silence) has(chunk uint64) bool { return *s.at(chunk) == chunk+1 }

func (s *silence) add(chunk uint64) { *s.at(chunk) = chunk + 1 }
