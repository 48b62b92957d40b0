package workload

import (
	"fmt"
	"slices"

	"gpurun/cudart"
	"gpurun/cudart/symm"
)

// NoMulticast says why the job gets no multicast addresses on such a device, or
// is empty. The simulator has them unless they are unwanted; GPUs have them only if
// wanted, since on a machine whose GPUs others share they can do harm.
func (j Job) NoMulticast(d cudart.Info, getenv func(string) string) string {
	forbidden := symm.MulticastForbidden(getenv)
	switch {
	case j.Multicast == Off:
		return "it needs a multicast address, and multicast is off"
	case j.Symm == string(symm.IPC) || j.Symm == string(symm.Host):
		return "it needs a multicast address, which memory shared by " + j.Symm + " has not"
	case d.Backend == "sim":
		return ""
	case forbidden != "":
		return "it needs a multicast address, which is refused because " + forbidden + " is set"
	case j.Multicast != On:
		return "it needs a multicast address, which GPUs get only with --multicast on"
	}
	return ""
}

// UsesPDL decides about programmatic dependent launch: if nobody says, it is for devices that can,
// and that no ranks share.
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

// briefBytes is the size of a part up to which a call is about over before the host could
// launch the next one early, which takes it 3 to 4 us: on two H200s an allreduce of 64 KB
// takes 2.8 us.
const briefBytes = 64 << 10

// BriefBytes is that size, or 0 where all kernels are to be launched early.
func (j Job) BriefBytes() int64 {
	if j.PDL == On {
		return 0
	}
	return briefBytes
}

// NeedsMulticast reports whether cases do.
func (p Plan) NeedsMulticast() bool {
	return slices.ContainsFunc(p.Cases, func(c Case) bool { return c.Algorithm.Needs.Multicast })
}
