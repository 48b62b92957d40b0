package main

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/examine"
	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/outcome"
	"gpurun/cmd/gpurun/phrase"
	"gpurun/cmd/gpurun/placement"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/sources"
	"gpurun/worker/workload"
)

const doctorLong = `doctor looks at the driver, the GPUs and how they are connected, the limits of a
container, and the libraries that gpurun can use. Then one process per GPU
writes to the memory of every other GPU, both read it, one pair at a time, and the
link is measured. Every finding is OK, WARN or FAIL, with what to do.

Without a GPU it says what is missing. With --device sim the check of all pairs
runs in the simulator, for all ranks at a time.

Exit codes: 0 nothing failed; 1 a link carries wrong data; 2 usage; 3 something
failed, or there is no GPU and --require-gpu; 128+n signal n.`

const doctorExample = `  gpurun doctor
  gpurun doctor --json | jq '.findings[] | select(.status != "OK")'
  gpurun --device sim --nproc-per-node 4 doctor`

const doctorTitle = "gpurun doctor"

func newDoctorCommand(a *program.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "doctor",
		Short:   "Examine driver, GPUs, links, container and libraries, and say what to do",
		Long:    doctorLong,
		Example: doctorExample,
		Args:    noArguments,
	}
	flags.AddOnly(cmd.Flags(), "timeout", "seed", "sim-seed", "p2p", "symm", "nccl-lib", "nvshmem-lib", "cublas-lib", "output")
	cmd.Flags().Lookup("output").Usage = "`form` of the diagnosis: table or json"
	asJSON := cmd.Flags().Bool("json", false, "print the diagnosis as JSON, as --output json does")
	flags.AddInject(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, c, inject, err := planDoctor(cmd)
		if err != nil {
			return outcome.Annotated(a, doctorTitle, err)
		}
		if *asJSON {
			c.Output = "json"
		}
		return outcome.Annotated(a, doctorTitle, a.Guarded(func() error {
			return s.Blamed(runDoctor(cmd.Context(), a, c, inject))
		}))
	}
	return cmd
}

// planDoctor reads what the command is told.
func planDoctor(cmd *cobra.Command) (s *sources.Sources, c settings.Config, inject []workload.Injection, err error) {
	if inject, err = flags.Injections(cmd.Flags()); err != nil {
		return nil, c, nil, err
	}
	if s, err = sources.Load(cmd.Flags()); err != nil {
		return nil, c, nil, err
	}
	if c, err = settings.Read(s); err != nil {
		return nil, c, nil, err
	}
	if err := placement.Refuse(s, c, cmd.Name()); err != nil {
		return nil, c, nil, hinted(err, cmd)
	}
	if err := placement.CheckAlone(s, "doctor measures what this machine's links can do"); err != nil {
		return nil, c, nil, err
	}
	if forms := []string{"table", "json"}; !slices.Contains(forms, c.Output) {
		return nil, c, nil, s.Blame("output", phrase.Unknown("form of a diagnosis", c.Output, forms))
	}
	return s, c, inject, nil
}

// runDoctor prints a diagnosis and decides the exit code.
func runDoctor(ctx context.Context, a *program.Invocation, c settings.Config, inject []workload.Injection) error {
	d, err := examine.Machine(ctx, a, c, inject...)
	if err != nil {
		return err
	}
	write := d.Write
	if c.Output == "json" {
		write = d.JSON
	}
	if err := write(a.Out); err != nil {
		return err
	}
	return examine.Verdict(d)
}
