// Package list describes the algorithms, and says which of them can run on this machine.
package list

import (
	"encoding/json"
	"io"

	"gpurun/cmd/gpurun/host"
	"gpurun/cmd/gpurun/settings"
	"gpurun/kernels"
	"gpurun/kernels/matmul"
)

// Listing is what there is to run, and where it can run here.
type Listing struct {
	Algorithms []algorithm `json:"algorithms"`
	// GPUs are the models here, one for each GPU.
	GPUs []string `json:"gpus"`
	// NoGPU says why nothing can run on a GPU here, if so.
	NoGPU string `json:"no_gpu,omitempty"`
}

// New asks the machine for its GPUs and the catalog for everything else. The simulator's devices have a
// compute capability that settings.SimArches has.
func New(arch string) (Listing, error) {
	l := Listing{GPUs: []string{}}
	simulated, err := host.Simulated(host.Simulator(settings.Config{SimArch: arch}))
	if err != nil {
		return l, err
	}
	gpus, err := host.GPUs()
	if err != nil {
		l.NoGPU = host.WhyNoGPU(err)
	}
	for _, gpu := range gpus {
		l.GPUs = append(l.GPUs, gpu.Name)
	}
	for _, c := range kernels.Collectives() {
		for _, algorithm := range c.Algorithms {
			l.Algorithms = append(l.Algorithms, describe(c, algorithm, gpus, err, simulated))
		}
	}
	for _, o := range matmul.Operations() {
		for _, algorithm := range o.Algorithms {
			l.Algorithms = append(l.Algorithms, describeProduct(o, algorithm, gpus, err, simulated))
		}
	}
	return l, nil
}

// JSON writes the list as an object.
func (l Listing) JSON(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(l)
}
