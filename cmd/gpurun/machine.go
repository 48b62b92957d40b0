package main

import (
	"errors"
	"fmt"

	"gpurun/cudart"
	"gpurun/cudart/driver"
	"gpurun/cudart/sim"
	"gpurun/kernels/collective"
)

// machine is where a collective runs: ranks 0 to ranks-1, one process each.
type machine struct {
	backend string // "cuda" or "sim"
	ranks   int
	gpus    int // with cuda
	// notice is to be said loudly before the run; it may be empty.
	notice string
}

// simulatedRanks is the number of ranks in the simulator unless told.
const simulatedRanks = 8

const noGPUNotice = "NO GPU: running in the simulator. The answers are real, but times say nothing about hardware. " +
	"\"gpurun list\" says why no GPU is seen."

// findMachine chooses between GPUs and the simulator, and checks that there is
// a device for every rank.
func findMachine(c config) (machine, error) {
	if c.Device == "sim" && c.RequireGPU {
		return machine{}, usagef("--device sim and --require-gpu exclude each other")
	}
	if c.Device == "sim" {
		return simulated(c, "")
	}
	gpus, err := driver.New().Devices()
	switch {
	case errors.Is(err, cudart.ErrNoDevice) && c.Device == "auto" && !c.RequireGPU:
		return simulated(c, noGPUNotice)
	case errors.Is(err, cudart.ErrNoDevice):
		return machine{}, &environmentError{fmt.Errorf("a GPU is required and there is none: %s", whyNoGPU(err))}
	case err != nil:
		return machine{}, &environmentError{fmt.Errorf("%w; --device sim runs without a GPU", err)}
	}
	return onGPUMachine(c, len(gpus))
}

// whyNoGPU is the part of the driver's error that explains it.
func whyNoGPU(err error) string {
	var failed *cudart.Error
	if errors.As(err, &failed) && failed.Detail != "" {
		return failed.Detail
	}
	return err.Error()
}

func simulated(c config, notice string) (machine, error) {
	m := machine{backend: "sim", ranks: simulatedRanks, notice: notice}
	switch {
	case c.NProcPerNode.number > 0:
		m.ranks = c.NProcPerNode.number
	case c.NProcPerNode.word == "gpu":
		return m, &environmentError{errors.New("--nproc-per-node gpu: there is no GPU; give a number")}
	}
	return m, m.check(c)
}

func onGPUMachine(c config, gpus int) (machine, error) {
	m := machine{backend: "cuda", ranks: gpus, gpus: gpus}
	if c.NProcPerNode.number > 0 {
		m.ranks = c.NProcPerNode.number
	}
	if m.ranks > gpus && !c.Oversubscribe {
		return m, &environmentError{fmt.Errorf("%d ranks cannot have a GPU each: this machine has %s; --oversubscribe lets them share",
			m.ranks, count(gpus, "GPU", "GPUs"))}
	}
	return m, m.check(c)
}

// check bounds the number of ranks.
func (m machine) check(c config) error {
	switch {
	case c.NProcPerNode.word == "cpu":
		return usagef("--nproc-per-node cpu is for commands; give a number")
	case m.ranks > collective.MaxRanks:
		return usagef("--nproc-per-node %d is more than the %d ranks that the kernels take", m.ranks, collective.MaxRanks)
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
// devices as there are ranks.
func openBackend(name string, ranks int) (cudart.Backend, error) {
	switch name {
	case "cuda":
		return driver.New(), nil
	case "sim":
		return sim.New(ranks, sim.Options{}), nil
	}
	return nil, fmt.Errorf("there is no backend %q", name)
}
