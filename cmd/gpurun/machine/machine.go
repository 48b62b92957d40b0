// Package machine finds what ranks can run on here: the GPUs, or the simulator, and says what
// an algorithm lacks there. It alone chooses a backend.
package machine

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/phrase"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/sources"
	"gpurun/cudart"
	"gpurun/cudart/symm"
	"gpurun/kernels/collective"
	"gpurun/kernels/libraries"
)

// Machine is where a collective runs: ranks 0 to ranks-1, one process each.
type Machine struct {
	Backend string // "cuda" or "sim"
	Ranks   int
	GPUs    int // with cuda
	SM      int // the least compute capability, 10*major+minor
	SMs     int // the least number of multiprocessors; 0 where the list of GPUs does not say
	// Notice is to be said loudly before the run; it may be empty.
	Notice string
}

// simulatedRanks is the number of ranks in the simulator unless told.
const simulatedRanks = 8

const noGPUNotice = "NO GPU: running in the simulator. The answers are real, but times say nothing about hardware. " +
	"\"gpurun list\" says why no GPU is seen."

// Find chooses between GPUs, which it has listed if need be, and the simulator,
// and checks that there is a device for every rank.
func Find(c settings.Config, list Lister) (Machine, error) {
	if c.Device == "sim" && c.RequireGPU {
		return Machine{}, exit.Usagef("--device sim and --require-gpu exclude each other")
	}
	if c.SimSeed > 0 && (c.Device == "cuda" || c.RequireGPU) {
		return Machine{}, sources.Misfit("sim-seed", "it means something to the simulator alone, and a GPU is asked for")
	}
	if c.Device == "sim" {
		return simulated(c, "")
	}
	gpus, err := list()
	switch {
	case errors.Is(err, cudart.ErrNoDevice) && c.Device == "auto" && !c.RequireGPU:
		return simulated(c, noGPUNotice)
	case errors.Is(err, cudart.ErrNoDevice):
		return Machine{}, &exit.EnvironmentError{Err: fmt.Errorf("a GPU is required and there is none: %s", WhyNoGPU(err))}
	case err != nil:
		return Machine{}, &exit.EnvironmentError{Err: fmt.Errorf("%w; --device sim runs without a GPU", err)}
	}
	return onGPUMachine(c, gpus)
}

func simulated(c settings.Config, notice string) (Machine, error) {
	m := Machine{Backend: "sim", Ranks: simulatedRanks, Notice: notice}
	infos, err := Simulated()
	if err != nil {
		return m, err
	}
	m.SM, m.SMs = least(infos)
	switch {
	case c.NProcPerNode.Number > 0:
		m.Ranks = c.NProcPerNode.Number
	case c.NProcPerNode.Word == "gpu":
		return m, &exit.EnvironmentError{Err: errors.New("--nproc-per-node gpu: there is no GPU; give a number")}
	}
	return m, m.check(c)
}

func onGPUMachine(c settings.Config, infos []cudart.Info) (Machine, error) {
	gpus := len(infos)
	m := Machine{Backend: "cuda", Ranks: gpus, GPUs: gpus}
	m.SM, m.SMs = least(infos)
	if c.NProcPerNode.Number > 0 {
		m.Ranks = c.NProcPerNode.Number
	}
	if m.Ranks > gpus && !c.Oversubscribe {
		return m, &exit.EnvironmentError{Err: fmt.Errorf("%d ranks cannot have a GPU each: this machine has %s; --oversubscribe lets them share",
			m.Ranks, phrase.Count(gpus, "GPU", "GPUs"))}
	}
	return m, m.check(c)
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

// isLibrary reports whether a library of others does what has that name.
func isLibrary(algorithm string) bool {
	return slices.Contains([]string{libraries.NCCLName, libraries.NVSHMEMName, libraries.CUBLASName}, algorithm)
}

// check bounds the number of ranks, and refuses what only the simulator has.
func (m Machine) check(c settings.Config) error {
	switch {
	case c.SimSeed > 0 && m.Backend != "sim":
		return sources.Misfit("sim-seed", "it is for the simulator: add --device sim")
	case m.Backend == "sim" && !symm.Kind(c.Symm).Traits().Simulated:
		return sources.Misfit("symm", "%s is for GPUs, and these are simulated: leave it at auto, or host", c.Symm)
	case m.Backend == "sim" && slices.ContainsFunc(c.Algo, isLibrary):
		return &exit.EnvironmentError{Err: fmt.Errorf("--algo %s: NCCL, NVSHMEM and cuBLAS work on GPUs alone, and these are simulated", strings.Join(c.Algo, ","))}
	case c.NProcPerNode.Word == "cpu":
		return sources.Misfit("nproc-per-node", "cpu is for commands; give a number")
	case m.Ranks > collective.MaxRanks:
		return sources.Misfit("nproc-per-node", "%d is more than the %d ranks that the kernels take", m.Ranks, collective.MaxRanks)
	}
	return nil
}

// Ordinal is the device of a rank.
func (m Machine) Ordinal(localRank int) int {
	if m.Backend == "cuda" {
		return localRank % m.GPUs
	}
	return localRank
}
