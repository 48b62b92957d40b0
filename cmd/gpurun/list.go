package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"gpurun/cudart"
	"gpurun/cudart/driver"
	"gpurun/kernels"
	"gpurun/kernels/collective"
)

// listing is what there is to run, and where it can run here.
type listing struct {
	Algorithms []listedAlgorithm `json:"algorithms"`
	// NoGPU says why nothing can run on a GPU here, if so.
	NoGPU string `json:"no_gpu,omitempty"`
}

type listedAlgorithm struct {
	Collective string   `json:"collective"`
	Aliases    []string `json:"aliases"`
	Algorithm  string   `json:"algorithm"`
	Summary    string   `json:"summary"`
	DTypes     []string `json:"dtypes"`
	Ops        []string `json:"ops"`
	MaxRanks   int      `json:"max_ranks"`
	// CUDA and Sim are "yes", or "no" with the reason.
	CUDA string `json:"cuda"`
	Sim  string `json:"sim"`
}

func newListCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List collectives, algorithms, types and operations, and where each can run here",
		Args:  noArguments,
	}
	output := cmd.Flags().String("output", "", "`form` of the list: table or json")
	cmd.RunE = func(*cobra.Command, []string) error {
		switch *output {
		case "", "table":
			return listAll().print(a.out)
		case "json":
			encoder := json.NewEncoder(a.out)
			encoder.SetIndent("", "  ")
			return encoder.Encode(listAll())
		}
		return &usageError{err: unknown("output format", *output, []string{"table", "json"})}
	}
	return cmd
}

// listAll asks the machine for its GPUs and the catalog for everything else.
func listAll() listing {
	var l listing
	gpus, err := driver.New().Devices()
	if err != nil {
		l.NoGPU = whyNoGPU(err)
	}
	for _, c := range kernels.Collectives() {
		for _, algorithm := range c.Algorithms {
			l.Algorithms = append(l.Algorithms, describeAlgorithm(c, algorithm, gpus, err))
		}
	}
	return l
}

func describeAlgorithm(c *collective.Collective, a *collective.Algorithm, gpus []cudart.Info, gpuErr error) listedAlgorithm {
	listed := listedAlgorithm{
		Collective: c.Name, Aliases: c.Aliases, Algorithm: a.Name, Summary: a.Summary,
		DTypes: dtypeNames(a.DTypes()), MaxRanks: a.MaxRanks,
		CUDA: onGPUs(a, gpus, gpuErr), Sim: "yes",
	}
	for _, op := range a.Ops() {
		listed.Ops = append(listed.Ops, string(op))
	}
	return listed
}

// onGPUs says whether an algorithm runs on all GPUs here.
func onGPUs(a *collective.Algorithm, gpus []cudart.Info, err error) string {
	if errors.Is(err, cudart.ErrNoDevice) {
		return "no: no GPU"
	}
	if err != nil {
		return "no: broken driver"
	}
	for _, gpu := range gpus {
		least := a.MinSM(a.DTypes()[0], a.Ops()[0], collective.NoEpilogue)
		if 10*gpu.Major+gpu.Minor < least {
			return fmt.Sprintf("no: %s has compute capability %d.%d, %d.%d is needed",
				gpu.Name, gpu.Major, gpu.Minor, least/10, least%10)
		}
	}
	return "yes"
}

func dtypeNames(types []collective.DType) []string {
	names := make([]string, len(types))
	for i, d := range types {
		names[i] = d.Name
	}
	return names
}

func (l listing) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "COLLECTIVE\tALGORITHM\tTYPES\tOPERATIONS\tRANKS\tCUDA\tSIM\tWHAT IT DOES")
	for _, x := range l.Algorithms {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t1-%d\t%s\t%s\t%s\n",
			x.Collective, x.Algorithm, strings.Join(x.DTypes, ","), strings.Join(x.Ops, ","), x.MaxRanks, x.CUDA, x.Sim, x.Summary)
	}
	if l.NoGPU != "" {
		fmt.Fprintf(t, "\ncuda: %s\n", l.NoGPU)
	}
	return t.Flush()
}
