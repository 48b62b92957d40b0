package workload

import (
	"fmt"

	"gpurun/kernels/matmul"
)

// refuseProductFile says why a kernel file cannot do a problem here, or returns nil. It refuses no other algorithm.
func (caps Capabilities) refuseProductFile(a *matmul.Algorithm, p matmul.Problem) error {
	if a.File == "" {
		return nil
	}
	name := a.Operation + " " + a.Name
	for rank, d := range caps.Devices {
		if least := a.MinSM(p.DType); !a.RunsOn(p.DType, sm(d)) {
			return fmt.Errorf("device of rank %d: %w", rank, &UnsupportedDevice{d, fmt.Sprintf(
				"%s is compiled for %d.%d alone", name, least/10, least%10)})
		}
	}
	switch {
	case a.GPU && caps.Devices[0].Backend == "sim":
		return &Unavailable{fmt.Sprintf("%s cannot run: its code is a binary for GPUs, and the simulator runs PTX; "+
			"compile it to PTX", name)}
	case a.Multicast && caps.NoMulticast != "":
		return &Unavailable{fmt.Sprintf("%s cannot run: it needs a multicast address, and %s", name, caps.NoMulticast)}
	}
	if _, err := a.Areas(p, len(caps.Devices), caps.LeastSMs()); err != nil {
		return &UsageError{err.Error()}
	}
	return nil
}

// ProblemsOf are the problems that the job asks an algorithm for.
func (p Plan) ProblemsOf(algorithm string) (all []matmul.Problem) {
	for _, q := range p.Products.requests {
		if q.Requested == algorithm {
			all = append(all, q.Problem)
		}
	}
	return all
}
