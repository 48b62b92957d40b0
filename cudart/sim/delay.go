package sim

import "math/rand/v2"

// With a seed, commands begin late and the copy engine pauses between pieces. Delays are counted in
// turns of the stream and not in time, so that they do not depend on the load of the machine: the
// same work, enqueued at once on streams of one device, happens in the same order again.
const (
	beforeCommand = 11 // base-2 logarithm of the longest delay
	betweenPieces = 5  // likewise, of a copy
)

// delay makes the stream skip less than 1<<most turns. Short delays are as likely as long ones.
func (s *stream) delay(most int) {
	if r := s.delays; r != nil {
		s.delayTurns = r.IntN(1 << r.IntN(most+1))
	}
}

// random is the randomness of a stream's nth kernel, or for n of 0 that of its
// delays; nil without disorder.
func (d *Device) random(stream int, n uint64) *rand.Rand {
	if d.seed == 0 {
		return nil
	}
	return rand.New(rand.NewPCG(d.seed, uint64(d.info.Ordinal)<<48|uint64(stream)<<32|n))
}
