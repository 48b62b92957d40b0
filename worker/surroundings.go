package worker

import (
	"fmt"
	"slices"
	"strings"

	"gpurun/cudart"
	"gpurun/kernels/collective"
	"gpurun/kernels/libraries"
)

// surroundings are what the devices of all ranks allow.
type surroundings struct {
	devices []cudart.Info // by rank
	// apart says which GPUs cannot reach each other; empty is none.
	apart string
	// noAtomics says which GPU cannot count in another's memory; empty is none.
	noAtomics string
	// noMulticast says why there are no multicast addresses; empty is that
	// there are.
	noMulticast string
	// spansMachines: the devices are on several machines.
	spansMachines bool
	wantPDL       bool // of every kernel, or else not at all
	// libraries are those of others that are open, the same versions on all ranks,
	// and missing says why one cannot be used; by name.
	libraries map[string]offered
	missing   map[string]string
}

// refuse says why an algorithm cannot do a call here, or returns nil.
func (s surroundings) refuse(c *collective.Collective, a *collective.Algorithm, call collective.Call) error {
	name := a.Collective + " " + a.Name
	for rank, d := range s.devices {
		k, ok := a.Find(call.DType, call.Op, call.Epilogue.Kind, len(s.devices), sm(d))
		switch {
		case !ok:
			return needsSM(rank, d, name, call, a.MinSM(call.DType, call.Op, call.Epilogue.Kind))
		case s.wantPDL && (!k.Module.Arch.PDL() || sm(d) < 90):
			return &Unavailable{fmt.Sprintf("%s has no kernel for programmatic dependent launch on %s: leave --pdl at auto", name, d.Name)}
		}
	}
	switch {
	case s.spansMachines && a.Needs.Library == "":
		return &Unavailable{withinOneMachine(c, a)}
	case a.Needs.Library != "":
		return s.refuseLibrary(c, a, call)
	case a.Needs.Peers && s.apart != "":
		return &Unavailable{fmt.Sprintf("%s cannot run: %s; %s can", name, s.apart, withoutPeers(c))}
	case a.Needs.Atomics && s.noAtomics != "":
		return &Unavailable{fmt.Sprintf("%s cannot run: %s", name, s.noAtomics)}
	case a.Needs.Multicast && s.noMulticast != "":
		return &Unavailable{fmt.Sprintf("%s cannot run: %s", name, s.noMulticast)}
	}
	return nil
}

// refuseLibrary is the part of refuse for what a library of others does.
func (s surroundings) refuseLibrary(c *collective.Collective, a *collective.Algorithm, call collective.Call) error {
	name := a.Collective + " " + a.Name
	least := libraries.MinSM(a.Needs.Library, call.DType, call.Op)
	for rank, d := range s.devices {
		if sm(d) < least {
			return needsSM(rank, d, name, call, least)
		}
	}
	if why := s.lacking(a.Needs.Library); why != "" {
		return &Unavailable{fmt.Sprintf("%s cannot run: %s", name, why)}
	}
	l := s.libraries[a.Needs.Library]
	if l.HasHeap() && s.apart != "" && !s.spansMachines {
		return &Unavailable{fmt.Sprintf("%s cannot run: %s; %s can", name, s.apart, withoutPeers(c))}
	}
	if err := l.Supports(a.Collective, call.DType, call.Op); err != nil {
		return &Unavailable{fmt.Sprintf("%s cannot run: %v", name, err)}
	}
	return nil
}

// needsSM says that a rank's device is older than a call needs.
func needsSM(rank int, d cudart.Info, name string, call collective.Call, least int) error {
	return fmt.Errorf("device of rank %d: %w", rank, &UnsupportedDevice{d, fmt.Sprintf(
		"%s of %s needs %d.%d", name, call.DType.Name, least/10, least%10)})
}

// withoutPeers names the algorithms that run where GPUs cannot reach each other.
func withoutPeers(c *collective.Collective) string {
	var names []string
	for _, a := range c.Algorithms {
		if !a.Needs.Peers && a.Needs.Library == "" {
			names = append(names, a.Name)
		}
	}
	return strings.Join(names, " or ")
}

// leastSM is the least compute capability of all devices, 10*major+minor.
func (s surroundings) leastSM() int {
	least := sm(s.devices[0])
	for _, d := range s.devices {
		least = min(least, sm(d))
	}
	return least
}

// leastSMs is the least number of multiprocessors of all devices.
func (s surroundings) leastSMs() int {
	least := s.devices[0].SMs
	for _, d := range s.devices {
		least = min(least, d.SMs)
	}
	return least
}

// productSMs is the number of multiprocessors that products use.
func (s surroundings) productSMs() int {
	if shareGPUs(s.devices) {
		return max(s.leastSMs()-forCopies, 1)
	}
	return s.leastSMs()
}

// launchesBlock reports whether a launch on any of the devices returns when the kernel has ended.
func (s surroundings) launchesBlock() bool {
	return slices.ContainsFunc(s.devices, func(d cudart.Info) bool { return d.LaunchesBlock })
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

// Unavailable is an algorithm that the machine lacks something for.
type Unavailable struct{ Reason string }

func (e *Unavailable) Error() string { return e.Reason }
