package workload

import (
	"fmt"
	"slices"

	"gpurun/cudart"
	"gpurun/cudart/symm"
)

// memory has the traits of the memory that the job asks for.
func (j Job) memory() symm.Traits { return symm.Kind(j.Symm).Traits() }

// NoPeerAccess names the setting of the job that rules out peer access on all devices; empty: there
// is none.
func (j Job) NoPeerAccess() string {
	switch {
	case j.P2P == Off:
		return "--p2p is off"
	case j.memory().HostMemory:
		return "--symm is " + j.Symm
	}
	return ""
}

// NoMulticast says why the job gets no multicast address from a backend; empty: it may get one.
// Simulated devices have multicast by default. GPUs have it only with --multicast on: on a shared
// machine, a multicast object can take its GPUs out of service.
func (j Job) NoMulticast(backend string, getenv func(string) string) string {
	if why := j.rulesOutMulticast(); why != "" || backend == "sim" {
		return why
	}
	switch forbidden := symm.MulticastForbidden(getenv); {
	case forbidden != "":
		return forbidden + " forbids it"
	case j.Multicast != On:
		return "GPUs get one only with --multicast on"
	}
	return ""
}

// rulesOutMulticast is the part of NoMulticast that holds for all devices.
func (j Job) rulesOutMulticast() string {
	switch {
	case j.Multicast == Off:
		return "--multicast is off"
	case !j.memory().Multicast:
		return "memory shared by " + j.Symm + " has none: --symm auto or vmm"
	}
	return ""
}

// UsesPDL reports whether kernels are launched by programmatic dependent launch. By default they
// are if all devices support it and no ranks share a GPU.
func (j Job) UsesPDL(devices []cudart.Info) (bool, error) {
	for rank, d := range devices {
		if sm(d) >= 90 {
			continue
		}
		if j.PDL == On {
			return false, fmt.Errorf("device of rank %d: %w", rank,
				&UnsupportedDevice{d, "programmatic dependent launch needs 9.0: leave --pdl at auto"})
		}
		return false, nil
	}
	return j.PDL == On || j.PDL != Off && !shareGPUs(devices), nil
}

// shortCallBytes is the size of a part up to which a call ends before the host could enqueue the
// next one by programmatic dependent launch, which takes the host 3 to 4 us. On two H200s an
// allreduce of 64 KB takes 2.8 us.
const shortCallBytes = 64 << 10

// ShortCallBytes is the size of a part up to which calls are launched in the way that costs the
// host least. It is 0 if the job asks for programmatic dependent launch of all kernels.
func (j Job) ShortCallBytes() int64 {
	if j.PDL == On {
		return 0
	}
	return shortCallBytes
}

// ChoosesOverlap reports whether auto takes an algorithm that is fast only where copies overlap with kernels.
func (p Plan) ChoosesOverlap() bool {
	return slices.ContainsFunc(p.Cases, func(c Case) bool { return c.Requested == Auto && c.Algorithm.Needs.Overlap })
}

// NeedsMulticast reports whether a case needs a multicast address.
func (p Plan) NeedsMulticast() bool {
	return slices.ContainsFunc(p.Cases, func(c Case) bool { return c.Algorithm.Needs.Multicast }) ||
		slices.ContainsFunc(p.Products.Cases, func(c ProductCase) bool { return c.Algorithm.Multicast })
}
