package race

import "math/bits"

// footprint says which lanes of a warp have accessed which addresses.
type footprint struct {
	lanes uint32 // 0: the lanes are not told apart
	span  uint32 // bytes that a lane accesses
	// The lanes access base, base+stride and so on, unless there is a table of their addresses.
	base   uint64
	stride uint32
	table  []uint64
}

// footprintOf is that of an access to so many bytes at each address.
func footprintOf(lanes uint32, addresses []uint64, bytes uint64) footprint {
	if lanes == 0 {
		return footprint{}
	}
	f := footprint{lanes: lanes, span: uint32(bytes), base: addresses[0]}
	if len(addresses) == 1 {
		return f
	}
	stride := addresses[1] - addresses[0]
	f.stride = uint32(stride)
	regular := stride == 0 || stride >= bytes && stride < 1<<32
	for i := 2; i < len(addresses) && regular; i++ {
		regular = addresses[i]-addresses[i-1] == stride
	}
	if !regular {
		f.table = append([]uint64(nil), addresses...)
	}
	return f
}

// sameLanes reports whether two accesses have each byte by the same lane, and no byte by two.
func (f *footprint) sameLanes(other *footprint) bool {
	return f.lanes == other.lanes && f.base == other.base && f.stride == other.stride && f.span == other.span &&
		f.table == nil && other.table == nil && (f.stride != 0 || f.lanes&(f.lanes-1) == 0)
}

// at are the lanes that have accessed an address.
func (f *footprint) at(addr uint64) (lanes uint32) {
	switch {
	case f.table != nil:
		left := f.lanes
		for _, base := range f.table {
			if addr-base < uint64(f.span) {
				lanes |= left & -left
			}
			left &= left - 1
		}
		return lanes
	case addr-f.base < uint64(f.span) && f.stride == 0:
		return f.lanes
	case f.stride == 0 || (addr-f.base)%uint64(f.stride) >= uint64(f.span):
		return 0
	}
	left := f.lanes
	for n := (addr - f.base) / uint64(f.stride); n > 0 && left != 0; n-- {
		left &= left - 1
	}
	return left & -left
}

// lanesAt are the lanes that access the address of a message. Without a message it does not matter.
func (e *event) lanesAt(m *message, addr uint64) uint32 {
	if m == nil || e.lanes == 0 {
		return allLanes
	}
	return e.at(addr)
}

// orAll are the lanes, or all where they are not told apart.
func (f *footprint) orAll() uint32 {
	if f.lanes == 0 {
		return allLanes
	}
	return f.lanes
}

// Unsynced is where a bar.warp.sync would order two accesses that have the cause [UnorderedLanes].
type Unsynced uint8

// The places.
const (
	BetweenLanes  Unsynced = iota // the accesses are by two lanes of a warp
	BeforeRelease                 // a lane releases, and another one made the first access
	BehindAcquire                 // a lane acquires, and another one makes the second access
)

// Lanes are two lanes of a warp that nothing orders, the first in the order of the program.
type Lanes struct {
	Unsynced      Unsynced
	First, Second int
}

// compareLanes looks for a race between lanes of one warp.
func (d *Detector) compareLanes(old, now *event) (race Lanes, found, hardware bool) {
	t := now.thread
	if old.step < t.lanes[byPTX].synced || old.lanes == 0 || now.lanes == 0 || old.sameLanes(&now.footprint) ||
		morallyStrong(t, old.op, t, now.op) {
		return Lanes{}, false, false
	}
	d.byLane = true
	step := min(old.op.Bytes, now.op.Bytes) // a cell is as large as the larger access, and may have several lanes
	for addr := d.cell; addr < d.cell+d.cellBytes; addr += step {
		at, isRace, byHardware := compareLanesAt(old, now, addr)
		if isRace && (!found || hardware && !byHardware) {
			race, found, hardware = at, true, byHardware
		}
	}
	return race, found, hardware
}

// compareLanesAt is compareLanes for the lanes that access an address.
func compareLanesAt(old, now *event, addr uint64) (race Lanes, found, hardware bool) {
	first, second := old.at(addr), now.at(addr)
	if old.op.Kind != Read {
		second &^= first // lanes that write the same place by one instruction are taken to write the same value
	}
	for model := range orders {
		lanes, ok := now.thread.lanes[model].unordered(first, second, old.step)
		if !ok {
			return race, found, found
		}
		race, found = lanes, true
	}
	return race, found, false
}

// unordered finds two different lanes that nothing orders, of those that made an access at a step and those of now.
func (o *laneOrder) unordered(first, second, step uint32) (Lanes, bool) {
	for m := second; m != 0; m &= m - 1 {
		now := bits.TrailingZeros32(m)
		for left := first &^ (1 << now); left != 0; left &= left - 1 {
			if old := bits.TrailingZeros32(left); !o.orders(old, step, now) {
				return Lanes{BetweenLanes, old, now}, true
			}
		}
	}
	return Lanes{}, false
}

// missesLanes looks whether two accesses are ordered for their warps, and not for their lanes.
func (d *Detector) missesLanes(old, now *event) (race Lanes, found, hardware bool) {
	for model := range orders {
		by, to := &old.thread.lanes[model], &now.thread.lanes[model]
		if (len(by.partial) == 0 || old.lanes == 0) && (to.learned == 0 || now.lanes == 0) {
			return race, found, found
		}
		d.byLane = true
		missing, ok := d.missing(by, to, old, now)
		if !ok {
			return race, found, found
		}
		race, found = missing, true
	}
	return race, found, false
}

// missing is missesLanes by one model.
func (d *Detector) missing(by, to *laneOrder, old, now *event) (Lanes, bool) {
	time := now.thread.known.ordered.at(old.thread.number)
	if to.learned != 0 && now.lanes != 0 {
		if without := d.lanesInCell(now) &^ to.learned; without != 0 {
			if time = to.before.at(old.thread.number); old.time > time {
				return Lanes{BehindAcquire, bits.TrailingZeros32(to.learned), bits.TrailingZeros32(without)}, true
			}
		}
	}
	if old.lanes == 0 {
		return Lanes{}, false
	}
	if left, released := by.unreleased(old.step, d.lanesInCell(old), time); left != 0 {
		return Lanes{BeforeRelease, bits.TrailingZeros32(left), bits.TrailingZeros32(released)}, true
	}
	return Lanes{}, false
}

// lanesInCell are the lanes that have made an access to the cell that is accessed now.
func (d *Detector) lanesInCell(e *event) (lanes uint32) {
	for addr := d.cell; addr < d.cell+d.cellBytes; addr += e.op.Bytes {
		lanes |= e.at(addr)
	}
	return lanes
}
