package host

import (
	"errors"
	"fmt"

	"gpurun/cmd/gpurun/foreign"
	"gpurun/cudart"
	"gpurun/cudart/driver"
	"gpurun/cudart/sim"
	"gpurun/worker/library"
)

// Lister lists the GPUs, as GPUs does.
type Lister func() ([]cudart.Info, error)

// GPUs lists the GPUs that the driver sees. Without any the error is cudart.ErrNoDevice.
func GPUs() ([]cudart.Info, error) { return driver.New().Devices() }

// Simulated describes a device of the simulator.
func Simulated() ([]cudart.Info, error) { return sim.New(1, sim.Options{}).Devices() }

// DriverVersion is the CUDA version that libcuda implements, 1000*major+10*minor.
func DriverVersion() (int, error) { return driver.New().LibraryVersion() }

// Open makes the backend of that name; the simulator has as many
// devices as there are ranks, and a disorder of memory where the seed is not 0.
func Open(name string, ranks int, seed uint64) (cudart.Backend, error) {
	switch name {
	case "cuda":
		return driver.New(), nil
	case "sim":
		return sim.New(ranks, sim.Options{Seed: seed}), nil
	}
	return nil, fmt.Errorf("unknown backend %q", name)
}

// Libraries are the libraries of others that a backend has: they need GPUs.
func Libraries(backend string) map[string]library.Open {
	if backend != "cuda" {
		return nil
	}
	return foreign.Libraries()
}

// WhyNoGPU is the part of the driver's error that explains it.
func WhyNoGPU(err error) string {
	var failed *cudart.Error
	if errors.As(err, &failed) && failed.Detail != "" {
		return failed.Detail
	}
	return err.Error()
}
