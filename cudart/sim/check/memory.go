package check

import (
	"fmt"
	"unsafe"

	"gpurun/cudart"
	"gpurun/cudart/sim/check/race"
	"gpurun/cudart/sim/exec"
)

// memory is the address space that the devices of all ranks share.
type memory struct {
	regions []*region // by number, less exec.FirstRegion
	names   []named
	gaps    []extent // between named buffers, in which an access is out of bounds
	shadow  race.Memory
	// valid are ranges in which accesses were right lately: see isValid.
	valid []extent
}

type region struct {
	base uint64
	size int64
	data []byte
	rank int
	host bool
	// ofRank numbers the allocations of a rank.
	ofRank int
	// written: all of it counts as written, as host memory and the variables of a module.
	written bool
	// malloc and free say where a kernel has allocated and freed it: nil of what host code does, and of what nobody has
	// freed.
	malloc, free *heapCall
	freed        bool
	end          lifeEvent // what has freed it
	// members are the allocations that a multicast address stands for; it has no data.
	members []*region
}

// named is a range of memory with a name for people.
type named struct {
	begin, end uint64
	rank       int
	name       string // of the buffer
	copied     string // what precedes it for one of its copies, such as "copy 1 of "
}

func (n *named) String() string { return fmt.Sprintf("rank %d's %s%s", n.rank, n.copied, n.name) }

func newMemory() memory { return memory{} }

// allocate makes a zeroed allocation of a rank.
func (m *memory) allocate(rank int, bytes int64) (*region, error) {
	const granule, most = 256, 1 << 34
	if bytes < 1 {
		return nil, fmt.Errorf("cannot allocate %d bytes: %w", bytes, cudart.ErrInvalidValue)
	}
	if bytes > most {
		return nil, fmt.Errorf("cannot allocate %d bytes; %d are possible: %w", bytes, most, cudart.ErrOutOfMemory)
	}
	words := make([][2]uint64, (bytes+granule-1)/granule*(granule/16))
	r := &region{
		base: uint64(exec.FirstRegion+len(m.regions)) << exec.RegionShift, size: bytes, rank: rank,
		data: unsafe.Slice((*byte)(unsafe.Pointer(&words[0])), 16*len(words)),
	}
	for _, other := range m.regions {
		if other.rank == rank {
			r.ofRank++
		}
	}
	m.regions = append(m.regions, r)
	return r, nil
}

// find returns the allocation that an address belongs to, or nil.
func (m *memory) find(addr uint64) *region {
	if r := m.ever(addr); r != nil && !r.freed {
		return r
	}
	return nil
}

// ever is find for allocations that were freed, too.
func (m *memory) ever(addr uint64) *region {
	n := addr>>exec.RegionShift - exec.FirstRegion
	if n >= uint64(len(m.regions)) {
		return nil
	}
	return m.regions[n]
}

// Resolve implements exec.Memory.
func (m *memory) Resolve(addr uint64) (exec.Region, bool) {
	r := m.find(addr)
	if r == nil {
		return exec.Region{}, false
	}
	return r.view(), true
}

// bytes is the host's view of a range within one allocation.
func (m *memory) bytes(ptr cudart.DevicePtr, n int64) ([]byte, error) {
	r := m.find(uint64(ptr))
	if r == nil || r.members != nil || n < 0 || uint64(ptr)-r.base > uint64(r.size) ||
		uint64(n) > uint64(r.size)-(uint64(ptr)-r.base) {
		return nil, failure("finding memory", cudart.ErrInvalidValue, "%d bytes at %#x are not within one allocation", n,
			uint64(ptr))
	}
	at := uint64(ptr) - r.base
	return r.data[at : at+uint64(n)], nil
}

// free ends an allocation. Its address is not used again.
func (m *memory) free(r *region, how lifeEvent) {
	r.freed, r.end, r.data, m.valid = true, how, nil, m.valid[:0]
}

func (m *memory) name(addr uint64, bytes int64, n named) {
	n.begin, n.end = addr, addr+uint64(max(bytes, 0))
	m.valid, m.names = m.valid[:0], append(m.names, n)
}

// rangeOf names the buffer that an address is in, the same for the memory of all ranks and for all copies, and tells
// whose memory it is: -1 if it has no name.
func (m *memory) rangeOf(addr uint64) (name string, rank int) {
	for i := len(m.names) - 1; i >= 0; i-- {
		if n := m.names[i]; addr >= n.begin && addr < n.end {
			return n.name, n.rank
		}
	}
	if exec.IsWorkspace(addr) {
		return fmt.Sprintf("workspace %d", addr/workspaceStride), -1
	}
	return "unnamed memory", -1
}

// describe says where an address is, by the last name that it was given.
func (m *memory) describe(addr uint64) string {
	for i := len(m.names) - 1; i >= 0; i-- {
		if n := m.names[i]; addr >= n.begin && addr < n.end {
			return fmt.Sprintf("%s at +%#x", &n, addr-n.begin)
		}
	}
	if r := m.ever(addr); r != nil && r.malloc != nil {
		return fmt.Sprintf("rank %d's %s, at +%#x", r.rank, r.ofHeap(), addr-r.base)
	} else if r != nil {
		return fmt.Sprintf("an allocation of rank %d, of %d bytes, at +%#x", r.rank, r.size, addr-r.base)
	}
	if exec.IsWorkspace(addr) {
		return fmt.Sprintf("the workspace of a cooperative grid at +%#x", addr%workspaceStride)
	}
	return fmt.Sprintf("no memory, at %#x", addr)
}
