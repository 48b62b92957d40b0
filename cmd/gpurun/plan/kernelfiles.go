package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/kernelcode"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/suggest"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
	"gpurun/worker/workload"
)

// readKernelFiles reads those among the words of --algo, without their code.
func readKernelFiles(words []string, of string) (files []*kernelfile.File, bundles []*kernelfile.Bundle, err error) {
	var seen []string
	for _, word := range words {
		if !kernelfile.IsPath(word) || slices.Contains(seen, word) {
			continue
		}
		f, text, err := kernelcode.Read(word)
		if err != nil {
			return nil, nil, err
		}
		if f.Collective != of {
			return nil, nil, exit.Usagef("%s is for %s, and this is %s: run gpurun kernel %s", word, f.Collective, of, word)
		}
		seen, files = append(seen, word), append(files, f)
		bundles = append(bundles, &kernelfile.Bundle{Path: word, Text: text})
	}
	return files, bundles, nil
}

// does reports whether a kernel file is for a type and an operation.
func does(f *kernelfile.File, d collective.DType, op collective.Op) bool {
	return slices.Contains(f.Types, d.Name) && (op == collective.None || slices.Contains(f.Ops, string(op)))
}

// offerTypesOf changes the default type and operation where the kernel files do not have them: to the first that all
// files have.
func offerTypesOf(s *settings.Sources, c *settings.Config, able abilities) {
	if len(able.files) == 0 {
		return
	}
	first := able.files[0]
	ops := orNone(first.Ops)
	for _, name := range first.Types {
		for _, word := range ops {
			d, _ := collective.ParseDType(name)
			if !able.can(d, collective.Op(word)) || given(s, "datatype", c.DataType, name) || given(s, "op", c.Op, word) {
				continue
			}
			if s.Source("datatype") == "" && !able.canAny(c.DataType, ops) {
				c.DataType = []string{name}
			}
			if s.Source("op") == "" && !able.canAny(c.DataType, c.Op) {
				c.Op = []string{word}
			}
			return
		}
	}
}

// given reports whether the user gave other values for a key.
func given(s *settings.Sources, key string, values []string, value string) bool {
	return s.Source(key) != "" && !slices.Contains(values, value) && !slices.Contains(values, settings.All)
}

// canAny reports whether some of the types can be had with some of the operations.
func (b abilities) canAny(types, ops []string) bool {
	return slices.ContainsFunc(types, func(name string) bool {
		d, ok := collective.ParseDType(name)
		return ok && slices.ContainsFunc(ops, func(op string) bool { return b.can(d, collective.Op(op)) })
	})
}

// orNone is the operation of collectives that do not reduce where there are no others.
func orNone(ops []string) []string {
	if len(ops) == 0 {
		return []string{string(collective.None)}
	}
	return ops
}

// loadKernelFiles loads the code of the job's kernel files, and has the simulator take their architecture.
func (p *Plan) loadKernelFiles(ctx context.Context, f *pflag.FlagSet, o Options) error {
	for i, b := range p.Job.KernelFiles {
		file, text, err := kernelcode.Read(b.Path)
		if err != nil {
			return err
		}
		options := kernelcode.Options{
			World: p.World(), Types: p.Job.DTypes, Ops: orNone(p.Job.Ops), Compile: flags.MayCompile(f), Notify: o.Notify,
		}
		if p.Job.KernelFiles[i], err = kernelcode.Load(ctx, file, text, options); err != nil {
			return err
		}
		if path, found := kernelcode.MachineCode(p.Job.KernelFiles[i]); found && p.Host.Backend == "sim" {
			return &exit.EnvironmentError{Err: fmt.Errorf("%s: %s is machine code, which runs on GPUs only; the simulator "+
				"needs PTX", b.Path, path)}
		}
	}
	return p.simulateArchOfFiles(o.lister())
}

// checkFiles says which of the files that are asked for, and of the further ones, cannot be written, or would take the
// place of a file that is read.
func (p *Plan) checkFiles(further ...string) error {
	return settings.CheckFiles(p.Config.Outputs(further...), p.Inputs()...)
}

// Inputs are the files that the plan was read from, which no result may replace; some may be empty.
func (p *Plan) Inputs() []string {
	read := []string{p.Sources.File(), p.Config.Profile}
	for _, b := range p.Job.KernelFiles {
		read = append(read, kernelcode.Files(b)...)
	}
	return read
}

// CallOf is the type and the operation of a call: those that are given, or else the defaults where the file has them,
// or else the file's first.
func CallOf(f *kernelfile.File, dtype, op string) (collective.DType, string, error) {
	if dtype == "" {
		dtype = collective.Float.Name
		if types := f.ElementTypes(); !slices.Contains(types, dtype) {
			dtype = types[0]
		}
	}
	d, ok := collective.ParseDType(dtype)
	if !ok {
		return d, "", &exit.UsageError{Err: suggest.Unknown("element type", dtype, f.ElementTypes())}
	}
	ops := orNone(f.Ops)
	if op == "" {
		op = string(collective.Sum)
		if !slices.Contains(ops, op) {
			op = ops[0]
		}
	}
	if _, ok := collective.ParseOp(op); !ok && op != string(collective.None) {
		return d, "", &exit.UsageError{Err: suggest.Unknown("operation", op, ops)}
	}
	return d, op, nil
}

// remark adds a notice.
func (p *Plan) remark(text string) {
	p.Remark = strings.TrimPrefix(p.Remark+"; ", "; ") + text
}

// noteCut says that calls of kernel files are smaller than the sizes that are given.
func (p *CollectiveRun) noteCut() {
	if len(p.Job.KernelFiles) == 0 || p.Sources.Source("minbytes") == "" && p.Sources.Source("maxbytes") == "" ||
		!p.Job.Cut(p.Collective.Shape, p.World()) {
		return
	}
	p.remark("each rank's part of a buffer is rounded down to a multiple of 16 bytes; with -u it may end at any element")
}

// dropSizes leaves out the sizes that the kernel files do not take, and says so, unless nothing would be left. Where
// sizes are given, it is an error if another algorithm does not take one. Of sizes that are rounded up to the same
// counts, the last one stays.
func (p *CollectiveRun) dropSizes() {
	which, probe := "default sizes", p.Job
	probe.Inject = nil // what is injected may lie behind the small sizes
	if p.Sources.Source("minbytes") != "" || p.Sources.Source("maxbytes") != "" {
		which, probe.Algorithms = "sizes", fileAlgorithms(p.Job)
	}
	if len(p.Job.KernelFiles) == 0 || len(probe.Algorithms) == 0 {
		return
	}
	var kept []int64
	var calls [][]collective.Call // of those
	sameCount := func(a, b collective.Call) bool { return a.Count == b.Count }
	var why error
	dropped := 0
	for _, size := range p.Job.Sizes {
		probe.Sizes = []int64{size}
		planned, err := probe.Plan(p.World())
		if err != nil {
			why, dropped = err, dropped+1
			continue
		}
		now, last := planned.Calls(probe.Algorithms[0]), len(kept)-1
		if last >= 0 && p.roundedUp(kept[last], now) && slices.EqualFunc(calls[last], now, sameCount) {
			kept[last] = size
			continue
		}
		kept, calls = append(kept, size), append(calls, now)
	}
	if len(kept) == 0 {
		return // the check of the job says why
	}
	if why != nil {
		reason, _, _ := strings.Cut(why.Error(), "; ") // what follows are other algorithms
		p.remark(fmt.Sprintf("%d of the %d %s are left out: %s", dropped, len(p.Job.Sizes), which, reason))
	}
	p.Job.Sizes = kept
}

// roundedUp reports whether some of the calls has more bytes than were asked for.
func (p *CollectiveRun) roundedUp(size int64, calls []collective.Call) bool {
	s, world := p.Collective.Shape, p.World()
	parts := max(s.Send.Of(world), s.Recv.Of(world))
	return slices.ContainsFunc(calls, func(c collective.Call) bool { return parts*c.Bytes() > size })
}

// fileAlgorithms are those of the job's algorithms that are kernel files.
func fileAlgorithms(job workload.Job) []string {
	return slices.DeleteFunc(slices.Clone(job.Algorithms), func(name string) bool { return !kernelfile.IsPath(name) })
}
