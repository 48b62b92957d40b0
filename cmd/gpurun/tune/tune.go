// Package tune measures which algorithm is the fastest for what, and writes it as a table.
package tune

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/host"
	"gpurun/cmd/gpurun/kernelcode"
	"gpurun/cmd/gpurun/plan"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/session"
	"gpurun/cmd/gpurun/settings"
	"gpurun/configs"
	"gpurun/kernels"
	"gpurun/kernels/collective"
	"gpurun/kernels/tuning"
	"gpurun/worker/result"
)

// tableFlag names the file to write.
const tableFlag = "output-table"

// AddFlags adds the flags of a measurement.
func AddFlags(f *pflag.FlagSet) {
	flags.AddOnly(f, "minbytes", "maxbytes", "stepbytes", "stepfactor", "iters", "warmup-iters", "cudagraph", "datatype",
		"timeout", epilogueFlag, hiddenFlag, "max-blocks", "pdl", "p2p", "multicast", "symm", "nvshmem-lib",
		"sim-seed", "sim-arch", "sim-memory")
	f.Lookup("datatype").Usage = "element `type` of the calls"
	f.Lookup(epilogueFlag).Usage = "comma-separated `epilogues` of the calls; none: plain calls"
	f.Lookup(hiddenFlag).Usage = "comma-separated row lengths in `elements`, for the epilogues bias and rmsnorm; " +
		"the rules of the first hold for any other length"
	f.StringP(tableFlag, "o", "", "write the table to this `file` instead of stdout")
}

// Run measures collectives as flags say, and kernel files beside gpurun's algorithms, and writes the table. It is
// called in the agent.
func Run(ctx context.Context, a *program.Invocation, f *pflag.FlagSet, collectives []*collective.Collective,
	kernelFiles []string,
) error {
	t, err := newMeasurement(ctx, f, collectives, kernelFiles)
	if err != nil {
		return err
	}
	return t.run(ctx, a)
}

// measurement is a measurement of collectives that is about to begin.
type measurement struct {
	file string // to write; empty is stdout
	runs []subject
}

// newMeasurement checks everything that can be checked beforehand.
func newMeasurement(ctx context.Context, f *pflag.FlagSet, collectives []*collective.Collective,
	kernelFiles []string,
) (*measurement, error) {
	t := &measurement{}
	var err error
	if t.file, err = f.GetString(tableFlag); err != nil {
		return nil, err
	}
	asked, err := kindsAsked(f)
	if err != nil {
		return nil, err
	}
	list := sync.OnceValues(host.GPUs)
	for _, what := range collectives {
		kinds, err := kindsOf(what, asked)
		if err != nil {
			return nil, err
		}
		for _, k := range kinds {
			p, err := newSubject(ctx, f, what, k, list)
			if err != nil {
				return nil, err
			}
			t.runs = append(t.runs, p)
		}
	}
	for _, path := range kernelFiles {
		p, err := newFileSubject(ctx, f, path, list)
		if err != nil {
			return nil, err
		}
		t.runs = append(t.runs, p)
	}
	var read []string
	for _, p := range t.runs {
		read = append(read, p.Inputs()...)
	}
	return t, settings.CheckFiles([]string{t.file}, read...)
}

// gridOfBlocks is an example of a grid that tune can measure: blocks is 0 where nobody asks for a number.
const gridOfBlocks = "blocks > 0 ? blocks : 32"

// newFileSubject plans calls of a kernel file, beside gpurun's algorithms. Candidates differ in their grids, and run in
// place and out of place.
func newFileSubject(ctx context.Context, f *pflag.FlagSet, path string, list host.Lister) (subject, error) {
	file, _, err := kernelcode.Read(path)
	if err != nil {
		return subject{}, err
	}
	what, ok := kernels.Find(file.Collective)
	switch {
	case !ok:
		return subject{}, exit.Usagef("tune measures collectives, and %s is for %s: gpurun kernel %s times it", path,
			file.Collective, path)
	case !file.TakesBlocks():
		return subject{}, exit.Usagef("tune measures grids of 1 to 128 blocks, and the grid of %s is its own: "+
			"write it as an expression with blocks, such as grid = %q", path, gridOfBlocks)
	}
	k := plain()
	k.file = path
	if what.Shape.Reduces {
		k.op = file.Ops[0]
	}
	s, err := newSubject(ctx, f, what, k, list)
	if a, ok := s.algorithm(path); err == nil && ok && a.Needs.SeparateOutput && s.places() > 1 {
		err = exit.Usagef("tune measures calls in place too, and %s has in_place = \"no\": gpurun bench measures it", path)
	}
	return s, err
}

// algorithm finds an algorithm of the subject, if there is one.
func (p subject) algorithm(name string) (*collective.Algorithm, bool) {
	if p.CollectiveRun == nil {
		return nil, false
	}
	return p.Collective.Algorithm(name)
}

// newSubject plans calls of one kind.
func newSubject(ctx context.Context, f *pflag.FlagSet, what *collective.Collective, k kind,
	list host.Lister,
) (subject, error) {
	o := k.planOptions()
	o.ListGPUs = list
	p, err := plan.NewCollective(ctx, f, what, o, nil)
	if err != nil {
		return subject{}, err
	}
	if len(p.Job.DTypes) > 1 {
		return subject{}, exit.Usagef("tune measures one type, not %s: give --datatype one", strings.Join(p.Job.DTypes, ", "))
	}
	p.LeftOut = "" // nobody named algorithms, and those that are measured are
	s := subject{p}
	s.keepRows()
	return s, nil
}

// PlanOptions is what sets a measurement apart from the usual run.
func PlanOptions() plan.Options {
	return plan.Options{
		Profiles: [][]byte{configs.Tune}, Override: override, OneHost: "tune runs on one machine",
	}
}

// override keeps what a configuration says about usual runs out of tables:
// they are of calls by any algorithm, plain ones unless flags say otherwise.
func override(c *settings.Config) {
	c.Algo, c.Op, c.Epilogue = []string{settings.All}, []string{string(collective.Sum)}, []string{settings.None}
	c.Tuning, c.Explain, c.Timing, c.Blocks, c.Root, c.RunCycles, c.Unaligned = settings.None, false, false, 0, 0, 1, false
}

// run measures one collective after the other and writes the table.
func (t *measurement) run(ctx context.Context, a *program.Invocation) error {
	progress := session.NewProgress(a.Err)
	defer progress.Clear()
	var samples []tuning.Sample
	var table tuning.Table
	for i, p := range t.runs {
		if i > 0 {
			p.Host.Notice = "" // it has been said
		}
		report, err := p.tune(ctx, a, progress)
		if err != nil {
			return err
		}
		if i == 0 || !p.Collective.Shape.Empty { // what moves nothing does not know the type
			if table, err = tableHead(report, p.Job.DTypes[0]); err != nil {
				return err
			}
		}
		samples = append(samples, p.samples(report.Results)...)
	}
	progress.Clear()
	if len(samples) == 0 {
		return exit.Usagef("no size from --minbytes to --maxbytes moves data: use larger sizes")
	}
	table.Rules = tuning.Rules(samples)
	text, err := tuning.Format(table, samples)
	if err != nil {
		return err
	}
	if t.file == "" {
		_, err = a.Out.Write(text)
		return err
	}
	return result.WriteText(t.file, text)
}

// tableHead says where a table was measured: on devices of one model.
func tableHead(r result.Report, dtype string) (tuning.Table, error) {
	d := r.Devices[0]
	for _, other := range r.Devices {
		if other.Name != d.Name {
			return tuning.Table{}, &exit.EnvironmentError{Err: fmt.Errorf(
				"a table is for one model of GPU, and there are %s and %s; select GPUs of one model with CUDA_VISIBLE_DEVICES",
				d.Name, other.Name)}
		}
	}
	return tuning.Table{
		GPU: d.Name, Compute: fmt.Sprintf("%d.%d", d.Major, d.Minor), Driver: d.Driver,
		Measured: time.Now().Format(time.DateOnly), DType: dtype,
	}, nil
}
