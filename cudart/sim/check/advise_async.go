package check

import (
	"strings"

	"gpurun/cudart/sim/check/race"
)

// adviseAsync says what orders two sides of which one is asynchronous, or a read by .nc; "" for other causes.
func adviseAsync(f *race.Finding, first, second Access) string {
	switch f.Cause {
	case race.WrongProxy:
		if f.First.Op.Multicast != f.Second.Op.Multicast {
			return "add fence.proxy.alias between them: one is by a multicast address"
		}
		return "add " + proxyFence(f.Second.Op.Space) + " between them, before the asynchronous one is issued"
	case race.NotWaitedFor:
		return "wait with " + waitFor(first) + " before " + second.Opcode()
	case race.ReadByNC:
		return "read without .nc: what is written while the grid runs must not be read by .nc"
	}
	return ""
}

// proxyFence is the fence that makes accesses by the generic proxy visible to asynchronous ones.
func proxyFence(s race.Space) string {
	switch s {
	case race.BarrierSpace:
		return "fence.mbarrier_init.release.cluster or fence.proxy.async"
	case race.SharedSpace:
		return "fence.proxy.async.shared::cta or fence.proxy.async"
	}
	return "fence.proxy.async"
}

// waitFor is what waits for an asynchronous instruction to read or to write.
func waitFor(a Access) string {
	switch op := a.Opcode(); {
	case strings.HasPrefix(op, "wgmma"):
		return "wgmma.wait_group 0"
	case strings.HasPrefix(op, "tcgen05"):
		return "tcgen05.commit to an mbarrier, and mbarrier.try_wait for its phase"
	case strings.Contains(op, "mbarrier"):
		return "mbarrier.try_wait for its mbarrier's phase"
	case strings.Contains(op, "bulk") && a.Kind == race.Read:
		return "cp.async.bulk.wait_group.read 0"
	case strings.Contains(op, "bulk"):
		return "cp.async.bulk.wait_group 0"
	case strings.HasPrefix(op, "cp.async"):
		return "cp.async.wait_group 0"
	}
	return "mbarrier.try_wait for its mbarrier's phase"
}
