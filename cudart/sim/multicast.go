package sim

import (
	"fmt"
	"slices"

	"gpurun/cudart"
	"gpurun/cudart/sim/exec"
)

// Multicast returns the address of a range that stands for all members at
// once: base+x is members[i]+x on every rank i. Members are what Malloc or
// ImportFD returned, of one size, in the order in which multimem.ld_reduce adds
// them; to give all ranks the same bits, give all the same order. Kernels reach
// the range with multimem instructions only, and copies do not reach it.
//
// Free releases it, and must do so before the members.
func (d *Device) Multicast(members []cudart.DevicePtr) (cudart.DevicePtr, error) {
	const op = "creating a multicast address"
	if err := d.sticky(); err != nil {
		return 0, err
	}
	if d.info.Major < 9 {
		return 0, failure(op, cudart.ErrNotSupported, "multicast needs compute capability 9.0, and the device has %d.%d",
			d.info.Major, d.info.Minor)
	}
	a, err := d.memory.newMulticast(members)
	if err != nil {
		return 0, failure(op, cudart.ErrInvalidValue, "%v", err)
	}
	return cudart.DevicePtr(a.base), nil
}

// newMulticast makes an allocation that has members instead of memory.
func (m *memory) newMulticast(members []cudart.DevicePtr) (*allocation, error) {
	if len(members) == 0 {
		return nil, fmt.Errorf("there are no members")
	}
	group := make([]*allocation, len(members))
	for i, ptr := range members {
		a, err := m.find(ptr)
		switch {
		case err != nil:
			return nil, fmt.Errorf("member %d: %w", i, err)
		case a.host || a.members != nil:
			return nil, fmt.Errorf("member %d: %#x is not device memory", i, uint64(ptr))
		case i > 0 && len(a.data) != len(group[0].data):
			return nil, fmt.Errorf("member %d has %d bytes and member 0 has %d", i, len(a.data), len(group[0].data))
		}
		group[i] = a
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.insert(&allocation{size: group[0].size, members: group}), nil
}

// region is the executor's view of an allocation.
func (a *allocation) region() exec.Region {
	r := exec.Region{Base: a.base, Data: a.data, Identity: a.inode}
	for _, member := range a.members {
		r.Members = append(r.Members, member.region())
	}
	return r
}

// isMember reports whether a multicast address still stands for an allocation.
func (m *memory) isMember(a *allocation) bool {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, other := range m.regions {
		if slices.Contains(other.members, a) {
			return true
		}
	}
	return false
}
