package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/machine"
	"gpurun/cmd/gpurun/phrase"
	"gpurun/cmd/gpurun/program"
	"gpurun/kernels"
	"gpurun/kernels/matmul"
)

// listing is what there is to run, and where it can run here.
type listing struct {
	Algorithms []listedAlgorithm `json:"algorithms"`
	// GPUs are the models here, one for each GPU.
	GPUs []string `json:"gpus"`
	// NoGPU says why nothing can run on a GPU here, if so.
	NoGPU string `json:"no_gpu,omitempty"`
}

func newListCommand(a *program.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List collectives and products, algorithms, types and operations, and where each can run here",
		Args:  noArguments,
	}
	output := cmd.Flags().String("output", "", "`form` of the list: table or json")
	cmd.RunE = func(*cobra.Command, []string) error {
		if err := refuseLauncherFlags(cmd); err != nil {
			return err
		}
		form, ok := map[string]func(listing, io.Writer) error{
			"": listing.print, "table": listing.print, "json": listing.encode,
		}[*output]
		if !ok {
			return &exit.UsageError{Err: phrase.Unknown("output format", *output, []string{"table", "json"})}
		}
		l, err := listAll()
		if err != nil {
			return err
		}
		return form(l, a.Out)
	}
	return cmd
}

// listAll asks the machine for its GPUs and the catalog for everything else.
func listAll() (listing, error) {
	l := listing{GPUs: []string{}}
	simulated, err := machine.Simulated()
	if err != nil {
		return l, err
	}
	gpus, err := machine.GPUs()
	if err != nil {
		l.NoGPU = machine.WhyNoGPU(err)
	}
	for _, gpu := range gpus {
		l.GPUs = append(l.GPUs, gpu.Name)
	}
	for _, c := range kernels.Collectives() {
		for _, algorithm := range c.Algorithms {
			l.Algorithms = append(l.Algorithms, describeAlgorithm(c, algorithm, gpus, err, simulated))
		}
	}
	for _, o := range matmul.Operations() {
		for _, algorithm := range o.Algorithms {
			l.Algorithms = append(l.Algorithms, describeProduct(o, algorithm, gpus, err, simulated))
		}
	}
	return l, nil
}

func (l listing) encode(w io.Writer) error {
	encoder := json.NewEncoder(w)
	encoder.SetIndent("", "  ")
	return encoder.Encode(l)
}

func (l listing) print(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "COLLECTIVE\tALGORITHM\tOPERATIONS AND TYPES\tEPILOGUES\tNEEDS\tRANKS\tCUDA\tSIM\tWHAT IT DOES")
	for _, x := range l.Algorithms {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t1-%d\t%s\t%s\t%s\n",
			x.Collective, x.Algorithm, x.opsAndTypes(), words(x.epilogues()), strings.Join(x.needs(), ", "), x.MaxRanks, x.CUDA, x.Sim, x.Summary)
	}
	fmt.Fprintf(t, "\nall types: %s\n", strings.Join(allDTypes(), ", "))
	if l.NoGPU != "" {
		fmt.Fprintf(t, "cuda: %s\n", l.NoGPU)
	}
	return t.Flush()
}

// words joins words, or stands for none.
func words(list []string) string {
	if len(list) == 0 {
		return "-"
	}
	return strings.Join(list, ",")
}
