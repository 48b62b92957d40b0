package check

import (
	"gpurun/cudart"
	"gpurun/cudart/sim/exec"
)

// Multicast returns an address that stands for allocations of all ranks at once: at+x is members[i]+x of every rank i.
// Kernels reach it by multimem instructions alone. The allocations are of one size. Each call makes another address.
func (r *Rank) Multicast(members []cudart.DevicePtr) (cudart.DevicePtr, error) {
	const op = "creating a multicast address"
	m := &r.run.memory
	var regions []*region
	for i, ptr := range members {
		member := m.find(uint64(ptr))
		switch {
		case member == nil || member.base != uint64(ptr) || member.host || len(member.members) > 0:
			return 0, failure(op, cudart.ErrInvalidValue, "member %d, %#x, is no allocation of device memory", i, uint64(ptr))
		case i > 0 && member.size != regions[0].size:
			return 0, failure(op, cudart.ErrInvalidValue, "member %d has %d bytes and member 0 has %d", i, member.size,
				regions[0].size)
		}
		regions = append(regions, member)
	}
	if len(regions) == 0 {
		return 0, failure(op, cudart.ErrInvalidValue, "there are no members")
	}
	group := &region{
		base: uint64(exec.FirstRegion+len(m.regions)) << exec.RegionShift, size: regions[0].size, rank: r.Number,
		members: regions,
	}
	m.regions = append(m.regions, group)
	return cudart.DevicePtr(group.base), nil
}

// view is the executor's view of a region.
func (r *region) view() exec.Region {
	v := exec.Region{Base: r.base, Data: r.data}
	for _, member := range r.members {
		v.Members = append(v.Members, member.view())
	}
	return v
}
