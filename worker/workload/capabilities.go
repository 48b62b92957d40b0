package workload

import (
	"fmt"
	"slices"
	"strings"

	"gpurun/cudart"
	"gpurun/kernels/collective"
	"gpurun/kernels/libraries"
)

// Capabilities are what the devices of all ranks can do together.
type Capabilities struct {
	Devices []cudart.Info // by rank
	// NoPeerAccess says which GPU has no access to which peer's memory; empty: all have.
	NoPeerAccess string
	// NoMulticast says why there is no multicast address; empty is that there is.
	NoMulticast string
	// NoOverlap says why copies from the peers' memory do not overlap with kernels; empty: they do.
	NoOverlap string
	// SpansMachines: the devices are on several machines.
	SpansMachines bool
	// PDL: kernels that can are launched by programmatic dependent launch. WantPDL: an
	// algorithm whose kernels cannot is refused.
	PDL, WantPDL bool
	// Libraries are the external ones that are open on this rank, and Missing says why one
	// cannot be used, the same on all ranks; by name.
	Libraries map[string]Library
	Missing   map[string]string
}

// refuse says why an algorithm cannot do a call here, or returns nil.
func (caps Capabilities) refuse(c *collective.Collective, a *collective.Algorithm, call collective.Call) error {
	name := a.Collective + " " + a.Name
	for rank, d := range caps.Devices {
		k, ok := a.Find(call.DType, call.Op, call.Epilogue.Kind, len(caps.Devices), sm(d))
		switch {
		case !ok:
			return needsSM(rank, d, name, call, a.MinSM(call.DType, call.Op, call.Epilogue.Kind))
		case caps.WantPDL && (!k.Module.Arch.PDL() || sm(d) < 90):
			return &Unavailable{
				fmt.Sprintf("%s has no kernel for programmatic dependent launch on %s: leave --pdl at auto", name, d.Name),
			}
		}
	}
	switch {
	case a.Needs.GPU && caps.Devices[0].Backend == "sim":
		return &Unavailable{fmt.Sprintf("%s cannot run: its code is a binary for GPUs, and the simulator runs PTX; "+
			"compile it to PTX", name)}
	case caps.SpansMachines && !a.AcrossMachines():
		return &Unavailable{withinOneMachine(c, a)}
	case a.Needs.Library != "":
		return caps.refuseLibrary(c, a, call)
	case a.Needs.Peers && caps.NoPeerAccess != "":
		return &Unavailable{fmt.Sprintf("%s cannot run: %s; %s can", name, caps.NoPeerAccess, withoutPeers(c))}
	case a.Needs.Multicast && caps.NoMulticast != "":
		return &Unavailable{fmt.Sprintf("%s cannot run: it needs a multicast address, and %s", name, caps.NoMulticast)}
	}
	return nil
}

// refuseLibrary is the part of refuse for algorithms of external libraries.
func (caps Capabilities) refuseLibrary(c *collective.Collective, a *collective.Algorithm, call collective.Call) error {
	name := a.Collective + " " + a.Name
	least := libraries.MinSM(a.Needs.Library, call.DType, call.Op)
	for rank, d := range caps.Devices {
		if sm(d) < least {
			return needsSM(rank, d, name, call, least)
		}
	}
	if why := caps.whyUnavailable(a.Needs.Library); why != "" {
		return &Unavailable{fmt.Sprintf("%s cannot run: %s", name, why)}
	}
	l := caps.Libraries[a.Needs.Library]
	if a.Needs.Peers && shareGPUs(caps.Devices) {
		return &Unavailable{fmt.Sprintf("%s cannot run: it needs a GPU for every rank, and ranks share a GPU; %s can", name,
			withoutPeers(c))}
	}
	if (l.HasHeap() || a.Needs.Peers) && caps.NoPeerAccess != "" && !caps.SpansMachines {
		return &Unavailable{fmt.Sprintf("%s cannot run: %s; %s can", name, caps.NoPeerAccess, withoutPeers(c))}
	}
	if err := l.Supports(a.Collective, call.DType, call.Op); err != nil {
		return &Unavailable{fmt.Sprintf("%s cannot run: %v", name, err)}
	}
	return nil
}

// needsSM says that a rank's device has a lower compute capability than a call needs.
// Code for one architecture alone, such as sm_90a, does not run on later devices.
func needsSM(rank int, d cudart.Info, name string, call collective.Call, least int) error {
	needs := fmt.Sprintf("%s of %s needs %d.%d", name, call.DType.Name, least/10, least%10)
	if least != 0 && least < sm(d) {
		needs = fmt.Sprintf("%s of %s is compiled for %d.%d alone", name, call.DType.Name, least/10, least%10)
	}
	if d.Backend == "sim" && least != sm(d) {
		needs += fmt.Sprintf(": --sim-arch %d.%d simulates such a device", least/10, least%10)
	}
	return fmt.Errorf("device of rank %d: %w", rank, &UnsupportedDevice{d, needs})
}

// withoutPeers names the algorithms that run without peer access.
func withoutPeers(c *collective.Collective) string {
	var names []string
	for _, a := range c.Algorithms {
		if !a.Needs.Peers && a.Needs.Library == "" && a.File == "" {
			names = append(names, a.Name)
		}
	}
	return strings.Join(names, " or ")
}

// leastSM is the lowest compute capability of all devices, 10*major+minor.
func (caps Capabilities) leastSM() int {
	least := sm(caps.Devices[0])
	for _, d := range caps.Devices {
		least = min(least, sm(d))
	}
	return least
}

// LeastSMs is the lowest number of multiprocessors of all devices.
func (caps Capabilities) LeastSMs() int {
	least := caps.Devices[0].SMs
	for _, d := range caps.Devices {
		least = min(least, d.SMs)
	}
	return least
}

// ProductSMs is the number of multiprocessors that products use.
func (caps Capabilities) ProductSMs() int {
	if shareGPUs(caps.Devices) {
		return max(caps.LeastSMs()-copySMs, 1)
	}
	return caps.LeastSMs()
}

// LaunchesBlock reports whether, on any device, a launch returns only when the kernel has ended.
func (caps Capabilities) LaunchesBlock() bool {
	return slices.ContainsFunc(caps.Devices, func(d cudart.Info) bool { return d.LaunchesBlock })
}

func sm(d cudart.Info) int { return 10*d.Major + d.Minor }

// UnsupportedDevice is a device that cannot run the job's kernels.
type UnsupportedDevice struct {
	Device cudart.Info
	Needs  string
}

func (e *UnsupportedDevice) Error() string {
	return fmt.Sprintf("%s has compute capability %d.%d, and %s", e.Device.Name, e.Device.Major, e.Device.Minor, e.Needs)
}

// Unavailable is an algorithm that needs something which the machine lacks.
type Unavailable struct{ Reason string }

func (e *Unavailable) Error() string { return e.Reason }
