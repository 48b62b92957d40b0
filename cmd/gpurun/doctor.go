package main

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"gpurun/cmd/gpurun/doctor"
	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/phrase"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cudart"
	"gpurun/cudart/driver"
	"gpurun/cudart/nvml"
	"gpurun/cudart/symm"
	"gpurun/worker"
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

func newDoctorCommand(a *app) *cobra.Command {
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
			return a.annotated(doctorTitle, err)
		}
		if *asJSON {
			c.Output = "json"
		}
		return a.annotated(doctorTitle, a.guarded(func() error {
			return s.Blamed(a.runDoctor(cmd.Context(), c, inject))
		}))
	}
	return cmd
}

// planDoctor reads what the command is told.
func planDoctor(cmd *cobra.Command) (s *settings.Sources, c settings.Config, inject []worker.Injection, err error) {
	if inject, err = flags.Injections(cmd.Flags()); err != nil {
		return nil, c, nil, err
	}
	if s, err = settings.Load(cmd.Flags()); err != nil {
		return nil, c, nil, err
	}
	if c, err = s.Config(); err != nil {
		return nil, c, nil, err
	}
	if err := s.RefuseNodes(c, cmd.Name()); err != nil {
		return nil, c, nil, hinted(err, cmd)
	}
	if forms := []string{"table", "json"}; !slices.Contains(forms, c.Output) {
		return nil, c, nil, s.Blame("output", phrase.Unknown("form of a diagnosis", c.Output, forms))
	}
	return s, c, inject, nil
}

// runDoctor prints a diagnosis and decides the exit code.
func (a *app) runDoctor(ctx context.Context, c settings.Config, inject []worker.Injection) error {
	d, err := a.examine(ctx, c, inject...)
	if err != nil {
		return err
	}
	write := d.Write
	if c.Output == "json" {
		write = d.JSON
	}
	if err := write(a.out); err != nil {
		return err
	}
	return verdict(d)
}

// verdict is the exit code of a diagnosis, and what has failed.
func verdict(d doctor.Diagnosis) error {
	if d.Worst() != doctor.Fail {
		return nil
	}
	code := exit.Environment
	if d.WrongData() {
		code = exit.WrongData
	}
	var failed []string
	for _, f := range d.Findings {
		if f.Status == doctor.Fail {
			failed = append(failed, f.Check+": "+f.Summary)
		}
	}
	return &exit.Error{Code: code, Said: strings.Join(failed, "\n")}
}

// examine looks at the machine and, where it has GPUs or c asks for the simulator,
// checks every pair of them, with failures made on purpose if any. It must be
// called in the agent; see guarded. What is wrong with the machine is a finding
// and no error.
func (a *app) examine(ctx context.Context, c settings.Config, inject ...worker.Injection) (doctor.Diagnosis, error) {
	sources := doctorSources(c)
	if none := listGPUs(c); none != nil {
		if len(inject) > 0 {
			return doctor.Diagnosis{}, exit.Usagef("--inject makes a failure in the check of pairs, and there are no GPUs to check: add --device sim")
		}
		d := doctor.Examine(sources)
		if sources.RequireGPU || !errors.Is(none, cudart.ErrNoDevice) {
			d.AddNoGPU(none)
		}
		return d, nil
	}
	run, err := planPairs(c, inject)
	if err != nil {
		return doctor.Diagnosis{}, err
	}
	d := doctor.Examine(sources)
	progress := newProgress(a.err)
	defer progress.clear()
	report, err := run.measure(ctx, a, silent{}, progress)
	if report.ExitCode > exit.Signalled {
		return d, err
	}
	d.AddPairs(report, run.job.Sizes[0], c.P2P == settings.Off || c.Symm == string(symm.Host))
	return d, nil
}

// The bytes that are written over each link, and the copies that are timed.
const (
	pairBytes          = 64 << 20
	pairCopies         = 5
	simulatedPairBytes = 16 << 10
)

// listGPUs says why there are no GPUs to check, unless the simulator is asked for.
func listGPUs(c settings.Config) error {
	if c.Device == "sim" {
		return nil
	}
	_, err := driver.New().Devices()
	return err
}

// planPairs plans the check of all pairs.
func planPairs(c settings.Config, inject []worker.Injection) (*collectiveRun, error) {
	m, err := findMachine(c, driver.New().Devices)
	if err != nil {
		return nil, err
	}
	c.OutputFile, c.Explain, c.Timing = "", false, false // they are for collectives
	job := worker.Job{
		Pairs: true, Sizes: []int64{pairBytes}, Iterations: pairCopies,
		Seed: c.Seed, P2P: c.P2P, Symm: c.Symm, Timeout: time.Duration(c.Timeout), Inject: inject,
	}
	if m.backend == "sim" {
		job.Sizes[0], job.PairsTogether = simulatedPairBytes, true
	}
	return &collectiveRun{config: c, job: job, machine: m}, checkJob(job, m.ranks)
}

func doctorSources(c settings.Config) doctor.Sources {
	gpu := driver.New()
	return doctor.Sources{
		Root:            os.DirFS("/"),
		LookupEnv:       os.LookupEnv,
		FileSystemBytes: fileSystemBytes,
		NVML:            func() (doctor.GPUs, error) { return nvml.Open(nvml.DefaultPaths()...) },
		CUDA:            gpu.LibraryVersion,
		Libraries:       doctorLibraries(c),
		RequireGPU:      c.RequireGPU || c.Device == "cuda",
	}
}

func fileSystemBytes(path string) (int64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(path, &stat); err != nil {
		return 0, &os.PathError{Op: "statfs", Path: path, Err: err}
	}
	return int64(stat.Blocks) * stat.Bsize, nil
}
