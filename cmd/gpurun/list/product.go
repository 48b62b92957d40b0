package list

import (
	"errors"
	"fmt"
	"strings"

	"gpurun/cmd/gpurun/foreign"
	"gpurun/cmd/gpurun/suggest"
	"gpurun/cudart"
	"gpurun/kernels/matmul"
	"gpurun/worker/result"
)

// describeProduct describes an algorithm for products of matrices.
func describeProduct(o *matmul.Operation, a *matmul.Algorithm, gpus []cudart.Info, gpuErr error,
	simulated []cudart.Info,
) algorithm {
	listed := algorithm{
		Collective: o.Name, Aliases: o.Aliases, Algorithm: a.Name, Summary: a.Summary, Ops: []string{result.None},
		MaxRanks: a.MaxRanks, Needs: requirements{Peers: a.Peers, Library: strings.Join(a.Libraries(), " and ")},
		product: true,
		Sim:     onAllForProduct(a, simulated),
	}
	for _, d := range matmul.DTypes() {
		sm := a.MinSM(d)
		if sm == 0 && a.File != "" {
			continue // the file is for another type
		}
		listed.DTypes = append(listed.DTypes, d.Name)
		listed.ByDType = append(listed.ByDType, dtype{
			DType: d.Name, Ops: listed.Ops, Epilogues: []string{}, MinCompute: fmt.Sprintf("%d.%d", sm/10, sm%10), sm: sm,
		})
	}
	switch {
	case errors.Is(gpuErr, cudart.ErrNoDevice):
		listed.CUDA = "no: no GPU"
	case gpuErr != nil:
		listed.CUDA = "no: broken driver"
	case a.Library != "":
		listed.CUDA = onLibraries(a.Libraries())
	default:
		listed.CUDA = onAllForProduct(a, gpus)
	}
	switch {
	case a.Library != "":
		listed.Sim = "no: it needs GPUs"
	case a.GPU:
		listed.Sim = noPTX
	}
	return listed
}

// onLibraries says whether all of some external libraries are there.
func onLibraries(names []string) string {
	var titles []string
	for _, name := range names {
		l, err := foreign.Libraries()[name]("")
		if err != nil {
			return "no: " + suggest.OneLine(err)
		}
		titles = append(titles, l.Title())
	}
	return "yes: " + strings.Join(titles, " and ")
}

// onAllForProduct says whether all devices are of the compute capability that the kernels need.
func onAllForProduct(a *matmul.Algorithm, devices []cudart.Info) string {
	for _, info := range devices {
		sm := 10*info.Major + info.Minor
		for _, d := range matmul.DTypes() {
			switch least := a.MinSM(d); {
			case a.File != "" && 0 < least && least < sm && !a.RunsOn(d, sm):
				return fmt.Sprintf("no: %s has compute capability %d.%d, and the code is for %d.%d alone", info.Name, info.Major,
					info.Minor, least/10, least%10)
			case sm < least:
				return fmt.Sprintf("no: %s has compute capability %d.%d, and %s needs %d.%d",
					info.Name, info.Major, info.Minor, d.Name, least/10, least%10)
			}
		}
	}
	return "yes"
}
