package host

import (
	"errors"
	"fmt"

	"gpurun/cmd/gpurun/foreign"
	"gpurun/cmd/gpurun/settings"
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
func Simulated(o SimOptions) ([]cudart.Info, error) { return sim.New(1, o).Devices() }

// SimOptions are the properties of simulated devices.
type SimOptions = sim.Options

// Simulator is what a configuration says about the simulator.
func Simulator(c settings.Config) SimOptions {
	o := sim.Options{Seed: c.SimSeed, Memory: sim.MemoryModel(c.SimMemory)}
	o.Major, o.Minor, _ = sim.ParseArch(c.SimArch)
	return o
}

// DriverVersion is the CUDA version that libcuda implements, 1000*major+10*minor.
func DriverVersion() (int, error) { return driver.New().LibraryVersion() }

// Open makes the backend of that name; the simulator has as many
// devices as there are ranks, with these properties.
func Open(name string, ranks int, simulator SimOptions) (cudart.Backend, error) {
	switch name {
	case "cuda":
		return driver.New(), nil
	case "sim":
		return sim.New(ranks, simulator), nil
	}
	return nil, fmt.Errorf("unknown backend %q", name)
}

// Libraries are the external libraries that a backend has: they need GPUs.
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
