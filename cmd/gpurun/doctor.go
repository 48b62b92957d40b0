package main

import (
	"context"
	"errors"
	"slices"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/doctor"
	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/node"
	"gpurun/cmd/gpurun/outcome"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/suggest"
	"gpurun/worker/result/webpage"
	"gpurun/worker/workload"
)

const doctorLong = `doctor checks the driver, the GPUs, the links between them, the limits of a container,
and the libraries that gpurun can use. Then one process per GPU writes to the memory of
every other GPU, one pair at a time. Both GPUs read the memory back, and the link's
bandwidth is measured. Every finding is OK, WARN or FAIL, with advice.

Without a GPU, doctor says what is missing. With --device sim, the check of pairs runs
in the simulator, for all pairs at once.

Exit codes: 0 no check failed; 1 a link carried wrong data; 2 usage; 3 another check
failed, or --require-gpu was given and there is no GPU; 220 a GPU failed; 128+n ended by
signal n.`

const doctorExample = `  gpurun doctor
  gpurun doctor --json | jq '.findings[] | select(.status != "OK")'
  gpurun --device sim --nproc-per-node 4 doctor`

const doctorTitle = "gpurun doctor"

func newDoctorCommand(a *program.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "doctor",
		Short:   "Check driver, GPUs, links, container and libraries of this machine",
		Long:    doctorLong,
		Example: doctorExample,
		Args:    noArguments,
	}
	flags.AddOnly(cmd.Flags(), "timeout", "seed", "sim-seed", "sim-arch", "sim-memory", "p2p", "symm", "nccl-lib",
		"nvshmem-lib", "cublas-lib", "output", "html")
	cmd.Flags().Lookup("output").Usage = "output `format`: table or json"
	flags.AddJSON(cmd.Flags())
	flags.AddInject(cmd.Flags())
	takeOneMachine(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		s, c, inject, err := planDoctor(cmd)
		if err != nil {
			return outcome.Annotated(a, doctorTitle, err)
		}
		return outcome.Annotated(a, doctorTitle, a.Guarded(func() error {
			return s.NameSource(runDoctor(cmd.Context(), a, c, inject))
		}))
	}
	return cmd
}

// planDoctor reads the settings of the command.
func planDoctor(cmd *cobra.Command) (s *settings.Sources, c settings.Config, inject []workload.Injection, err error) {
	if inject, err = flags.Injections(cmd.Flags()); err != nil {
		return nil, c, nil, err
	}
	if s, err = settings.Load(cmd.Flags()); err != nil {
		return nil, c, nil, err
	}
	if c, err = settings.Read(s); err != nil {
		return nil, c, nil, err
	}
	if err := node.RefuseSeveral(s, c, cmd.Name()); err != nil {
		return nil, c, nil, usageError(err, cmd)
	}
	if err := node.RequireOneTask(s, "doctor measures this machine's links"); err != nil {
		return nil, c, nil, err
	}
	if forms := []string{"table", "json"}; !slices.Contains(forms, c.Output) {
		return nil, c, nil, s.Invalid("output", suggest.Unknown("output format", c.Output, forms))
	}
	if err := settings.CheckFiles(c.Outputs(), s.File()); err != nil {
		return nil, c, nil, err
	}
	return s, c, inject, nil
}

// runDoctor prints a diagnosis and decides the exit code.
func runDoctor(ctx context.Context, a *program.Invocation, c settings.Config, inject []workload.Injection) error {
	d, err := doctor.Run(ctx, a, c, inject...)
	if err != nil {
		return err
	}
	write := d.Write
	if c.Output == "json" {
		write = d.JSON
	}
	writing := write(a.Out)
	if c.HTML != "" {
		page := doctor.Page(doctorTitle, d)
		page.Facts = append(page.Facts, webpage.Command(a.Args))
		writing = errors.Join(writing, writePage(c.HTML, doctorTitle, page))
	}
	return outcome.Ended(a, doctor.Verdict(d), writing)
}
