package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/phrase"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cudart"
	"gpurun/cudart/driver"
	"gpurun/cudart/sim"
	"gpurun/cudart/symm"
	"gpurun/kernels/collective"
	"gpurun/kernels/libraries"
)

// machine is where a collective runs: ranks 0 to ranks-1, one process each.
type machine struct {
	backend string // "cuda" or "sim"
	ranks   int
	gpus    int // with cuda
	sm      int // the least compute capability, 10*major+minor
	sms     int // the least number of multiprocessors; 0 where the list of GPUs does not say
	// notice is to be said loudly before the run; it may be empty.
	notice string
}

// simulatedRanks is the number of ranks in the simulator unless told.
const simulatedRanks = 8

const noGPUNotice = "NO GPU: running in the simulator. The answers are real, but times say nothing about hardware. " +
	"\"gpurun list\" says why no GPU is seen."

// gpuLister lists the GPUs, as driver.Backend.Devices does.
type gpuLister func() ([]cudart.Info, error)

// findMachine chooses between GPUs, which it has listed if need be, and the simulator,
// and checks that there is a device for every rank.
func findMachine(c settings.Config, list gpuLister) (machine, error) {
	if c.Device == "sim" && c.RequireGPU {
		return machine{}, exit.Usagef("--device sim and --require-gpu exclude each other")
	}
	if c.SimSeed > 0 && (c.Device == "cuda" || c.RequireGPU) {
		return machine{}, settings.Misfit("sim-seed", "it means something to the simulator alone, and a GPU is asked for")
	}
	if c.Device == "sim" {
		return simulated(c, "")
	}
	gpus, err := list()
	switch {
	case errors.Is(err, cudart.ErrNoDevice) && c.Device == "auto" && !c.RequireGPU:
		return simulated(c, noGPUNotice)
	case errors.Is(err, cudart.ErrNoDevice):
		return machine{}, &exit.EnvironmentError{Err: fmt.Errorf("a GPU is required and there is none: %s", whyNoGPU(err))}
	case err != nil:
		return machine{}, &exit.EnvironmentError{Err: fmt.Errorf("%w; --device sim runs without a GPU", err)}
	}
	return onGPUMachine(c, gpus)
}

// whyNoGPU is the part of the driver's error that explains it.
func whyNoGPU(err error) string {
	var failed *cudart.Error
	if errors.As(err, &failed) && failed.Detail != "" {
		return failed.Detail
	}
	return err.Error()
}

func simulated(c settings.Config, notice string) (machine, error) {
	m := machine{backend: "sim", ranks: simulatedRanks, notice: notice}
	infos, err := sim.New(1, sim.Options{}).Devices()
	if err != nil {
		return m, err
	}
	m.sm, m.sms = least(infos)
	switch {
	case c.NProcPerNode.Number > 0:
		m.ranks = c.NProcPerNode.Number
	case c.NProcPerNode.Word == "gpu":
		return m, &exit.EnvironmentError{Err: errors.New("--nproc-per-node gpu: there is no GPU; give a number")}
	}
	return m, m.check(c)
}

func onGPUMachine(c settings.Config, infos []cudart.Info) (machine, error) {
	gpus := len(infos)
	m := machine{backend: "cuda", ranks: gpus, gpus: gpus}
	m.sm, m.sms = least(infos)
	if c.NProcPerNode.Number > 0 {
		m.ranks = c.NProcPerNode.Number
	}
	if m.ranks > gpus && !c.Oversubscribe {
		return m, &exit.EnvironmentError{Err: fmt.Errorf("%d ranks cannot have a GPU each: this machine has %s; --oversubscribe lets them share",
			m.ranks, phrase.Count(gpus, "GPU", "GPUs"))}
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
func (m machine) check(c settings.Config) error {
	switch {
	case c.SimSeed > 0 && m.backend != "sim":
		return settings.Misfit("sim-seed", "it is for the simulator: add --device sim")
	case m.backend == "sim" && slices.Contains([]symm.Kind{symm.VMM, symm.IPC, symm.NVSHMEMHeap}, symm.Kind(c.Symm)):
		return settings.Misfit("symm", "%s is for GPUs, and these are simulated: leave it at auto, or host", c.Symm)
	case m.backend == "sim" && slices.ContainsFunc(c.Algo, isLibrary):
		return &exit.EnvironmentError{Err: fmt.Errorf("--algo %s: NCCL, NVSHMEM and cuBLAS work on GPUs alone, and these are simulated", strings.Join(c.Algo, ","))}
	case c.NProcPerNode.Word == "cpu":
		return settings.Misfit("nproc-per-node", "cpu is for commands; give a number")
	case m.ranks > collective.MaxRanks:
		return settings.Misfit("nproc-per-node", "%d is more than the %d ranks that the kernels take", m.ranks, collective.MaxRanks)
	}
	return nil
}

// ordinal is the device of a rank.
func (m machine) ordinal(localRank int) int {
	if m.backend == "cuda" {
		return localRank % m.gpus
	}
	return localRank
}

// openBackend makes the backend of that name; the simulator has as many
// devices as there are ranks, and a disorder of memory where the seed is not 0.
func openBackend(name string, ranks int, seed uint64) (cudart.Backend, error) {
	switch name {
	case "cuda":
		return driver.New(), nil
	case "sim":
		return sim.New(ranks, sim.Options{Seed: seed}), nil
	}
	return nil, fmt.Errorf("there is no backend %q", name)
}
