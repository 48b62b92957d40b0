package check

import (
	"fmt"

	"gpurun/cudart/sim/check/finding"
	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/exec"
)

// OutOfBounds is an access to bytes that belong to no buffer.
const OutOfBounds = finding.OutOfBounds

// The causes of OutOfBounds.
const (
	beyondAllocation = "beyond the end of an allocation"
	inGap            = "behind the end of a buffer"
	inNoAllocation   = "in no allocation"
)

// extent is a range of addresses, with the end of its padding, which only loads may reach into.
type extent struct{ begin, end, padded uint64 }

func (e extent) holds(addr, bytes uint64, loads bool) bool {
	end := e.end
	if loads {
		end = e.padded
	}
	return addr >= e.begin && addr < e.end && bytes <= end-addr
}

// gapAlign is what buffers within an allocation are aligned to. What is behind a buffer, up to the next multiple of it,
// belongs to nobody; what is behind that may be another buffer, which has no name.
const gapAlign = 256

// vectorBytes is the size of the largest vector. A buffer is padded to a multiple of it: kernels load its last elements
// as a vector, and leave out what is behind the end.
const vectorBytes = 16

// within reports whether bytes belong to one buffer, and why not. A load may reach into the padding of its buffer.
func (m *memory) within(addr, bytes uint64, loads bool) (cause string, ok bool) {
	if m.isValid(addr, bytes, loads) {
		return "", true
	}
	e, cause := m.extentOf(addr)
	if cause != "" {
		return cause, false
	}
	e.padded = e.end
	if _, behind := m.extentOf(e.end); behind != "" {
		e.padded = (e.end + vectorBytes - 1) / vectorBytes * vectorBytes
	}
	if e.holds(addr, bytes, loads) {
		m.keepValid(e)
		return "", true
	}
	if r := m.find(addr); e.end == r.base+uint64(r.size) {
		return beyondAllocation, false
	}
	return inGap, false
}

// mostValid bounds the buffers that are kept in memory.valid: enough for an algorithm's buffers of some ranks.
const mostValid = 16

// isValid reports whether bytes belong to a buffer that was found lately. It becomes the first one that is looked at.
func (m *memory) isValid(addr, bytes uint64, loads bool) bool {
	for i, e := range m.valid {
		if e.holds(addr, bytes, loads) {
			m.valid[0], m.valid[i] = e, m.valid[0]
			return true
		}
	}
	return false
}

// keepValid keeps a buffer that was found, in place of the one that was looked at last where there are too many.
func (m *memory) keepValid(e extent) {
	if len(m.valid) == mostValid {
		m.valid[0] = e
		return
	}
	m.valid = append(m.valid, e)
}

// extentOf is the buffer that holds an address, or what of its allocation has no name; or why there is none.
func (m *memory) extentOf(addr uint64) (e extent, cause string) {
	r := m.find(addr)
	switch {
	case r == nil:
		return e, inNoAllocation
	case addr-r.base >= uint64(r.size):
		return e, beyondAllocation
	}
	for _, gap := range m.gaps {
		if gap.begin <= addr && addr < gap.end {
			return e, inGap
		}
	}
	free := extent{begin: r.base, end: r.base + uint64(r.size)}
	for _, n := range m.names {
		switch {
		case n.begin <= addr && addr < n.end:
			if n.end > e.end {
				e = extent{begin: n.begin, end: min(n.end, free.end)}
			}
		case n.end <= addr && n.end > r.base:
			free.begin = max(free.begin, n.end)
		case n.begin > addr:
			free.end = min(free.end, n.begin)
		}
	}
	if e.end > 0 {
		return e, ""
	}
	if begin := (free.begin + gapAlign - 1) / gapAlign * gapAlign; addr < begin {
		return e, inGap
	}
	return free, ""
}

// nearest says where an address is relative to the buffer, or the allocation without names, that is nearest to it.
func (m *memory) nearest(addr uint64) string {
	best, text := ^uint64(0), "no buffer"
	consider := func(begin, end uint64, name string) {
		switch {
		case addr >= end && addr-end < best:
			best, text = addr-end, fmt.Sprintf("%d bytes behind the end of %s", addr-end, name)
		case addr < begin && begin-addr < best:
			best, text = begin-addr, fmt.Sprintf("%d bytes before %s", begin-addr, name)
		case addr >= begin && addr < end && best > 0:
			best, text = 0, fmt.Sprintf("%#x bytes into %s", addr-begin, name)
		}
	}
	for _, n := range m.names {
		consider(n.begin, n.end, n.String())
	}
	in := m.ever(addr)
	for _, r := range m.regions {
		if r == in && addr-r.base < uint64(r.size) && best < 1<<exec.RegionShift {
			continue // one of its buffers is nearest
		}
		consider(r.base, r.base+uint64(r.size), fmt.Sprintf("an allocation of rank %d, of %d bytes", r.rank, r.size))
	}
	if best >= 1<<exec.RegionShift {
		return fmt.Sprintf("%#x, which is near no buffer", addr)
	}
	return text
}

// checkBounds notes the first lane of an access whose bytes belong to no buffer.
func (o *observer) checkBounds(at exec.Place, a *exec.ObservedAccess) {
	m, bytes := &o.run.memory, a.Bytes*uint64(a.Elements)
	low, high := spread(a)
	// All lanes at once, as a rule.
	if high>>exec.RegionShift < exec.FirstRegion || m.isValid(low, high+bytes-low, a.Kind == exec.Reads) {
		return
	}
	for lane, addr := range a.Addresses {
		if a.Lanes>>lane&1 == 0 || addr>>exec.RegionShift < exec.FirstRegion {
			continue
		}
		if cause, ok := m.within(addr, bytes, a.Kind == exec.Reads); !ok {
			side := access(race.Side{
				Thread: o.actor(at.Block, at.Warp), Op: &race.Operation{Kind: kinds[a.Kind], Site: at.Site},
			})
			o.run.noteBounds(cause, side, lane, addr, bytes)
			return
		}
	}
}

// checkRange notes a range of an asynchronous copy that belongs to no buffer.
func (o *observer) checkRange(t *race.Thread, site exec.Site, kind race.Kind, r exec.ObservedRange) {
	if cause, ok := o.run.memory.within(r.Address, r.Bytes, kind == race.Read); !ok {
		side := access(race.Side{Thread: t.Name, Op: &race.Operation{Kind: kind, Site: site}})
		o.run.noteBounds(cause, side, r.Lane, r.Address, r.Bytes)
	}
}

// noteBounds notes an access of a lane that is out of bounds, or in an allocation that was freed.
func (r *run) noteBounds(cause string, at Access, lane int, addr, bytes uint64) {
	out := Finding{
		Kind: OutOfBounds, Cause: cause, Sides: []Access{at}, Bytes: bytes,
		Where:  "memory " + r.memory.nearest(addr),
		Advice: "compare the index with the size of the buffer before the access",
	}
	if in := r.memory.ever(addr); in != nil && in.freed {
		out.Kind, out.Cause, out.Advice = Freed, lifeEvents[in.end].cause, lifeEvents[in.end].advice
		out.Where = r.memory.describe(addr)
		if in.free != nil {
			out.Sides = []Access{in.free.Access, at}
		}
	}
	r.note(out, lane, addr)
}

// spread is the lowest and the highest address of an access.
func spread(a *exec.ObservedAccess) (low, high uint64) {
	low = ^uint64(0)
	for lane, addr := range a.Addresses {
		if a.Lanes>>lane&1 != 0 {
			low, high = min(low, addr), max(high, addr)
		}
	}
	return low, high
}
