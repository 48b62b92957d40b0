package list

import (
	"gpurun/cmd/gpurun/host"
	"gpurun/cmd/gpurun/settings"
	"gpurun/kernels"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
	"gpurun/kernels/matmul"
	"gpurun/kernels/userkernel"
)

// Files lists the kernels that kernel files describe, in place of gpurun's own algorithms. The simulator's devices have
// a compute capability that settings.SimArches has.
func Files(arch string, bundles []*kernelfile.Bundle) (Listing, error) {
	l := Listing{GPUs: []string{}}
	simulated, err := host.Simulated(host.Simulator(settings.Config{SimArch: arch}))
	if err != nil {
		return l, err
	}
	gpus, gpuErr := host.GPUs()
	if gpuErr != nil {
		l.NoGPU = host.WhyNoGPU(gpuErr)
	}
	for _, gpu := range gpus {
		l.GPUs = append(l.GPUs, gpu.Name)
	}
	for _, b := range bundles {
		if a, o, err := productOf(b); err != nil {
			return l, err
		} else if a != nil {
			l.Algorithms = append(l.Algorithms, describeProduct(o, a, gpus, gpuErr, simulated))
			continue
		}
		c, err := collectiveOf(b)
		if err != nil {
			return l, err
		}
		a := c.Algorithms[len(c.Algorithms)-1] // its own are before it
		listed := describe(c, a, gpus, gpuErr, simulated)
		if a.Needs.GPU {
			listed.Sim = noPTX
		}
		l.Algorithms = append(l.Algorithms, listed)
	}
	return l, nil
}

// noPTX says why the simulator does not run a file.
const noPTX = "no: its code is for GPUs only"

// productOf is the algorithm of a kernel file for a product, or nil where the file is for something else.
func productOf(b *kernelfile.Bundle) (*matmul.Algorithm, *matmul.Operation, error) {
	f, err := kernelfile.Parse(b.Path, b.Text)
	if err != nil {
		return nil, nil, err
	}
	o, ok := matmul.Find(f.Collective)
	if !ok {
		return nil, nil, nil
	}
	return userkernel.NewProduct(f, b, o), o, nil
}

// collectiveOf is the collective of a kernel file, with the file's algorithm as the last.
func collectiveOf(b *kernelfile.Bundle) (*collective.Collective, error) {
	one := []*kernelfile.Bundle{b}
	f, err := kernelfile.Parse(b.Path, b.Text)
	if err != nil {
		return nil, err
	}
	if c, ok := kernels.Find(f.Collective); ok {
		return userkernel.Extend(c, one)
	}
	return userkernel.Custom(one)
}
