package list

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"gpurun/cudart"
	"gpurun/cudart/symm"
	"gpurun/kernels/collective"
	"gpurun/kernels/libraries"
)

// algorithm is the description of an algorithm.
type algorithm struct {
	Collective string   `json:"collective"`
	Aliases    []string `json:"aliases"`
	Algorithm  string   `json:"algorithm"`
	Summary    string   `json:"summary"`
	DTypes     []string `json:"dtypes"`
	Ops        []string `json:"ops"` // with some type
	// ByDType says which operations and epilogues there are for each type.
	ByDType  []dtype      `json:"by_dtype"`
	MaxRanks int          `json:"max_ranks"`
	Needs    requirements `json:"needs"`
	// CUDA and Sim are "yes", or "no" with the reason.
	CUDA string `json:"cuda"`
	Sim  string `json:"sim"`

	empty   bool // it moves no data, and types mean nothing
	product bool // of matrices
}

type dtype struct {
	DType     string   `json:"dtype"`
	Ops       []string `json:"ops"`
	Epilogues []string `json:"epilogues"` // with the operation sum
	// MinCompute is the least compute capability.
	MinCompute string `json:"min_compute"`

	sm int // MinCompute, 10*major+minor
}

// requirements is what the memory must offer.
type requirements struct {
	Peers          bool   `json:"peer_access"`
	Multicast      bool   `json:"multicast"`
	Library        string `json:"library,omitempty"` // of others, that does it
	SeparateOutput bool   `json:"separate_output"`   // it does not run in place
}

func describe(c *collective.Collective, a *collective.Algorithm, gpus []cudart.Info, gpuErr error,
	simulated []cudart.Info,
) algorithm {
	listed := algorithm{
		Collective: c.Name, Aliases: c.Aliases, Algorithm: a.Name, Summary: a.Summary,
		DTypes: dtypeNames(a.DTypes()), MaxRanks: a.MaxRanks,
		Needs: requirements{a.Needs.Peers, a.Needs.Multicast, a.Needs.Library, a.Needs.SeparateOutput},
		empty: c.Shape.Empty,
	}
	for _, op := range a.Ops() {
		listed.Ops = append(listed.Ops, string(op))
	}
	for _, d := range a.DTypes() {
		listed.ByDType = append(listed.ByDType, describeDType(a, d))
	}
	listed.CUDA = onGPUs(a, gpus, gpuErr)
	listed.Sim = onAll(a, simulated)
	if a.Needs.Library != "" {
		listed.Sim = "no: it needs GPUs"
	}
	return listed
}

func describeDType(a *collective.Algorithm, d collective.DType) dtype {
	listed := dtype{DType: d.Name, Epilogues: []string{}}
	for _, op := range a.Ops() {
		if !a.Supports(d, op, collective.NoEpilogue) {
			continue
		}
		listed.Ops = append(listed.Ops, string(op))
		listed.sm = a.MinSM(d, op, collective.NoEpilogue)
	}
	for _, e := range collective.EpilogueKinds() {
		if a.Supports(d, collective.Sum, e) {
			listed.Epilogues = append(listed.Epilogues, string(e))
		}
	}
	listed.MinCompute = fmt.Sprintf("%d.%d", listed.sm/10, listed.sm%10)
	return listed
}

// onGPUs says whether an algorithm runs on all GPUs here.
func onGPUs(a *collective.Algorithm, gpus []cudart.Info, err error) string {
	switch {
	case errors.Is(err, cudart.ErrNoDevice):
		return "no: no GPU"
	case err != nil:
		return "no: broken driver"
	case a.Needs.Multicast && symm.MulticastForbidden(os.Getenv) != "":
		return "no: " + symm.MulticastForbidden(os.Getenv) + " forbids multicast"
	case a.Needs.Multicast:
		return "with --multicast on, if the fabric has it"
	case a.Needs.Library != "":
		return onLibraries([]string{a.Needs.Library})
	}
	return onAll(a, gpus)
}

// onAll says whether all devices are of the compute capability that an
// algorithm's kernels need.
func onAll(a *collective.Algorithm, devices []cudart.Info) string {
	for _, info := range devices {
		for _, d := range a.DTypes() {
			for _, op := range a.Ops() {
				ok := runsOn(a, d, op, 10*info.Major+info.Minor)
				if least := a.MinSM(d, op, collective.NoEpilogue); !ok && least > 0 {
					return fmt.Sprintf("no: %s has compute capability %d.%d, and %s needs %d.%d",
						info.Name, info.Major, info.Minor, d.Name, least/10, least%10)
				}
			}
		}
	}
	return "yes"
}

// runsOn reports whether an algorithm has a kernel, for any number of ranks, that a compute capability takes.
func runsOn(a *collective.Algorithm, d collective.DType, op collective.Op, sm int) bool {
	return slices.ContainsFunc(a.Kernels, func(k collective.Kernel) bool {
		_, ok := a.Find(d, op, collective.NoEpilogue, k.World, sm)
		return ok
	})
}

// opsAndTypes reads "sum,avg: float,double; sum: half". A collective that does
// not reduce moves any type.
func (x algorithm) opsAndTypes() string {
	switch {
	case x.empty:
		return "-"
	case x.product:
		return strings.Join(x.DTypes, ",")
	case slices.Contains(x.Ops, string(collective.None)):
		if slices.Equal(x.DTypes, allDTypes()) {
			return "all types"
		}
		return strings.Join(x.DTypes, ",")
	}
	var order []string
	types := map[string][]string{}
	for _, d := range x.ByDType {
		ops := strings.Join(d.Ops, ",")
		if types[ops] == nil {
			order = append(order, ops)
		}
		types[ops] = append(types[ops], d.DType)
	}
	for i, ops := range order {
		names := strings.Join(types[ops], ",")
		if slices.Equal(types[ops], allDTypes()) {
			names = "all types"
		}
		order[i] = ops + ": " + names
	}
	return strings.Join(order, "; ")
}

// epilogues lists those that there are for some type.
func (x algorithm) epilogues() []string {
	var all []string
	for _, d := range x.ByDType {
		for _, e := range d.Epilogues {
			if !slices.Contains(all, e) {
				all = append(all, e)
			}
		}
	}
	return all
}

// needs lists what not every machine has, or not every call: first the compute
// capability, and the types that need a later one.
func (x algorithm) needs() []string {
	if x.Needs.Library != "" {
		return x.foreignNeeds()
	}
	least := x.ByDType[0].sm
	late := map[int][]string{}
	for _, d := range x.ByDType {
		least = min(least, d.sm)
		late[d.sm] = append(late[d.sm], d.DType)
	}
	all := []string{fmt.Sprintf("sm_%d", least)}
	for _, sm := range slices.Sorted(maps.Keys(late)) {
		if sm > least {
			all = append(all, fmt.Sprintf("sm_%d for %s", sm, strings.Join(late[sm], " and ")))
		}
	}
	for _, n := range []struct {
		is   bool
		name string
	}{
		{x.Needs.Peers, "peers"}, {x.Needs.Multicast, "multicast"}, {x.Needs.SeparateOutput, "separate output"},
	} {
		if n.is {
			all = append(all, n.name)
		}
	}
	return all
}

// foreignNeeds is needs of what a library does.
func (x algorithm) foreignNeeds() []string {
	all := []string{libraries.Requirement(x.Needs.Library)}
	if x.Needs.Peers {
		all = append(all, "peers")
	}
	if x.Needs.SeparateOutput {
		all = append(all, "separate output")
	}
	return all
}

func allDTypes() []string { return dtypeNames(collective.DTypes()) }

func dtypeNames(types []collective.DType) []string {
	names := make([]string, len(types))
	for i, d := range types {
		names[i] = d.Name
	}
	return names
}
