// Package host finds the devices on which ranks can run here, GPUs or simulated ones, and says
// what an algorithm lacks there. It alone chooses a backend.
package host

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/suggest"
	"gpurun/cudart"
	"gpurun/cudart/symm"
	"gpurun/kernels/collective"
	"gpurun/kernels/libraries"
)

// Host is where a collective runs: ranks 0 to ranks-1, one process each.
type Host struct {
	Backend string // "cuda" or "sim"
	Ranks   int
	GPUs    int // with cuda
	SM      int // the least compute capability, 10*major+minor
	SMs     int // the least number of multiprocessors; 0 where the list of GPUs does not say
	// Notice is printed before the run; it may be empty.
	Notice string
}

// simulatedRanks is the number of ranks in the simulator without --nproc-per-node.
const simulatedRanks = 8

const noGPUNotice = "NO GPU: running in the simulator. Results are verified, but times say nothing about hardware. " +
	"\"gpurun list\" shows why no GPU was found."

// Find chooses between GPUs, which it has listed if need be, and the simulator,
// and checks that there is a device for every rank.
func Find(c settings.Config, list Lister) (Host, error) {
	if c.Device == "sim" && c.RequireGPU {
		return Host{}, exit.Usagef("--device sim and --require-gpu exclude each other")
	}
	if key := simulatorKey(c); key != "" && (c.Device == "cuda" || c.RequireGPU) {
		return Host{}, settings.InvalidKey(key,
			"only the simulator has this option, and --device cuda or --require-gpu asks for a GPU")
	}
	if c.Device == "sim" {
		return simulated(c, "")
	}
	gpus, err := list()
	switch {
	case errors.Is(err, cudart.ErrNoDevice) && c.Device == "auto" && !c.RequireGPU:
		return simulated(c, noGPUNotice)
	case errors.Is(err, cudart.ErrNoDevice):
		return Host{}, &exit.EnvironmentError{Err: fmt.Errorf("a GPU is required and there is none: %s", WhyNoGPU(err))}
	case err != nil:
		return Host{}, &exit.EnvironmentError{Err: fmt.Errorf("%w; --device sim runs without a GPU", err)}
	}
	return onGPUMachine(c, gpus)
}

func simulated(c settings.Config, notice string) (Host, error) {
	h := Host{Backend: "sim", Ranks: simulatedRanks, Notice: notice}
	infos, err := Simulated(Simulator(c))
	if err != nil {
		return h, err
	}
	h.SM, h.SMs = least(infos)
	switch {
	case c.NProcPerNode.Number > 0:
		h.Ranks = c.NProcPerNode.Number
	case c.NProcPerNode.Word == "gpu":
		return h, &exit.EnvironmentError{Err: errors.New("--nproc-per-node gpu: there is no GPU; give a number")}
	}
	return h, h.check(c)
}

func onGPUMachine(c settings.Config, infos []cudart.Info) (Host, error) {
	gpus := len(infos)
	h := Host{Backend: "cuda", Ranks: gpus, GPUs: gpus}
	h.SM, h.SMs = least(infos)
	if c.NProcPerNode.Number > 0 {
		h.Ranks = c.NProcPerNode.Number
	}
	if h.Ranks > gpus && !c.Oversubscribe {
		return h, &exit.EnvironmentError{Err: fmt.Errorf("%d ranks need a GPU each, and this machine has %s: "+
			"lower --nproc-per-node, or let ranks share GPUs by --oversubscribe",
			h.Ranks, suggest.Count(gpus, "GPU", "GPUs"))}
	}
	return h, h.check(c)
}

// least is the least compute capability, 10*major+minor, and number of
// multiprocessors of at least one device.
func least(infos []cudart.Info) (sm, sms int) {
	sm, sms = math.MaxInt, math.MaxInt
	for _, info := range infos {
		sm, sms = min(sm, 10*info.Major+info.Minor), min(sms, info.SMs)
	}
	return sm, sms
}

// isLibrary reports whether an external library has the algorithm of that name.
func isLibrary(algorithm string) bool {
	return slices.Contains([]string{
		libraries.NCCLName, libraries.NCCLSymmetricName, libraries.NVSHMEMName, libraries.CUBLASName,
	}, algorithm)
}

// simulatorKey is a setting that asks for something of the simulator, or "".
func simulatorKey(c settings.Config) string {
	switch {
	case c.SimSeed > 0:
		return "sim-seed"
	case c.SimArch != "" && c.SimArch != settings.DefaultSimArch:
		return "sim-arch"
	case c.SimMemory != "" && c.SimMemory != settings.HardwareMemory:
		return "sim-memory"
	}
	return ""
}

// check bounds the number of ranks, and refuses what only the simulator has.
func (h Host) check(c settings.Config) error {
	switch {
	case simulatorKey(c) != "" && h.Backend != "sim":
		return settings.InvalidKey(simulatorKey(c), "only the simulator has this option: add --device sim")
	case h.Backend == "sim" && c.Symm == string(symm.NVSHMEMHeap): // as for --algo nvshmem: a library is missing
		return &exit.EnvironmentError{Err: errors.New("--symm nvshmem: NVSHMEM needs GPUs, and the devices are simulated")}
	case h.Backend == "sim" && !symm.Kind(c.Symm).Traits().Simulated:
		return settings.InvalidKey("symm", "%s needs GPUs, and the devices are simulated: use auto or host", c.Symm)
	case h.Backend == "sim" && slices.ContainsFunc(c.Algo, isLibrary):
		return &exit.EnvironmentError{
			Err: fmt.Errorf("--algo %s: NCCL, NVSHMEM and cuBLAS need GPUs, and the devices are simulated",
				strings.Join(c.Algo, ",")),
		}
	case c.NProcPerNode.Word == "cpu":
		return settings.InvalidKey("nproc-per-node", "cpu is for launched programs; give a number")
	case h.Ranks > collective.MaxRanks:
		return settings.InvalidKey("nproc-per-node", "%d is more than the %d ranks that the kernels support", h.Ranks,
			collective.MaxRanks)
	}
	return nil
}

// Ordinal is the device of a rank.
func (h Host) Ordinal(localRank int) int {
	if h.Backend == "cuda" {
		return localRank % h.GPUs
	}
	return localRank
}
