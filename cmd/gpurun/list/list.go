// Package list describes the algorithms, and says which of them can run on this machine.
package list

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

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

// Print writes the list as a table.
func (l Listing) Print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "COLLECTIVE\tALGORITHM\tOPERATIONS AND TYPES\tEPILOGUES\tNEEDS\tRANKS\tCUDA\tSIM\tWHAT IT DOES")
	for _, x := range l.Algorithms {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t1-%d\t%s\t%s\t%s\n",
			x.Collective, x.Algorithm, x.opsAndTypes(), orDash(x.epilogues()), strings.Join(x.needs(), ", "), x.MaxRanks, x.CUDA,
			x.Sim, x.Summary)
	}
	fmt.Fprintf(t, "\nall types: %s\n", strings.Join(allDTypes(), ", "))
	if l.NoGPU != "" {
		fmt.Fprintf(t, "cuda: %s\n", l.NoGPU)
	}
	return t.Flush()
}

// orDash joins words, or stands for none.
func orDash(list []string) string {
	if len(list) == 0 {
		return "-"
	}
	return strings.Join(list, ",")
}
