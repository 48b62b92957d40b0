package collective

import (
	"errors"
	"fmt"

	"gpurun/cudart"
)

// mostChainBytes is the most data of one launch of a chain, which bounds the area. Another launch costs less than 1% of
// the time that so many bytes take.
const mostChainBytes = 1 << 30

// Chained makes an algorithm of a single kernel whose ranks push vectors on from one to the next: device/chain.cuh. The
// vectors arrive in an area with room for all of a launch, and for a key for every `keyed` of them; 0: they have none.
// A call of more bytes than the area has room for takes several launches.
func Chained(a *Algorithm, keyed int64) {
	a.Areas = func(_, _ int, call Call) ([]Area, error) {
		vecs := ceilDiv(min(call.Bytes(), mostChainBytes), vecBytes)
		if keyed > 0 {
			vecs += ceilDiv(vecs, keyed)
		}
		return []Area{{Name: "vectors", Bytes: vecs * vecBytes}}, nil
	}
	a.Prepare = func(c *Comm, s cudart.Stream, call Call) error {
		k, err := c.kernelFor(a, call)
		if err == nil && c.brief(call) {
			err = s.Prepare(k.kernel)
		}
		return errors.Join(err, c.zeroAreas(a, s))
	}
	a.Enqueue = func(c *Comm, s cudart.Stream, call Call) error {
		if err := c.Admit(a, call); err != nil {
			return err
		}
		area := c.Areas(a)[0]
		most := bytesOfChain(area.Bytes, keyed) / int64(call.DType.Size)
		if most == 0 && call.Count > 0 {
			return fmt.Errorf("%s %s cannot run: there is no room for vectors", a.Collective, a.Name)
		}
		for call.Count > 0 {
			part := call
			part.Count = min(call.Count, most)
			p := c.Params(part)
			p.PacketOffset = area.Offset
			if err := c.launch(s, a, part, c.GridOfVecs(a, part, part.Bytes()), &p); err != nil {
				return err
			}
			call.Count -= part.Count
			call.Send += part.Bytes()
			call.Recv += part.Bytes()
		}
		return nil
	}
}

// bytesOfChain is the most data of a launch if its vectors, and their keys, arrive in so much memory.
func bytesOfChain(room, keyed int64) int64 {
	vecs := room / vecBytes
	if keyed > 0 {
		vecs -= ceilDiv(vecs, keyed+1)
	}
	return vecs * vecBytes
}

// zeroAreas fills an algorithm's areas with zeros before its first call.
func (c *Comm) zeroAreas(a *Algorithm, s cudart.Stream) error {
	zeroed := c.State(a, func() any { return new(bool) }).(*bool)
	if *zeroed {
		return nil
	}
	for _, area := range c.Areas(a) {
		if area.Bytes == 0 {
			continue
		}
		if err := s.Fill(c.Local(area.Offset), 0, area.Bytes); err != nil {
			return err
		}
	}
	*zeroed = true
	return nil
}
