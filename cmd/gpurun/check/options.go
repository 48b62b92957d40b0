// Package check runs algorithms under the race checker: all ranks in this process, under many schedules.
//
// The files:
//
//	options    the flags
//	plan       which cases there are: algorithms, types, numbers of ranks
//	products   cases of products of matrices; productoptions and productfiles: their flags and kernel files
//	files      cases of kernel files; filesizes: how large their calls are
//	machine    compute capabilities of the devices
//	run        one exploration after the other
//	merge      findings of all cases, each once
//	group      the same, by root causes
//	suppress   the file of findings that are accepted
//	replay     one schedule again
//	litmus     litmus tests of the memory model, which need no algorithm
//	progress   how far it is, on stderr
//	write      the files of the results
//	save       the files of the schedules
//	timeline   the picture of the first finding
package check

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/suggest"
	engine "gpurun/cudart/sim/check"
	"gpurun/kernels/collective"
	"gpurun/kernels/kernelfile"
)

// Options are the flags.
type Options struct {
	ranks, sizes, strategy, algo, dtype, op, model, arch string
	minutes                                              float64

	Launches, Schedules, Blocks, Root, Resident, Steps int

	Seed                                   uint64
	Unaligned                              bool
	JSON, SARIF, JUnit, HTML, Suppressions string
	Replay, Save, Timeline                 string

	Litmus   LitmusOptions
	Products ProductOptions

	Ranks      []int
	Sizes      []int64 // bytes of the larger of a rank's buffers
	Strategies []engine.Strategy
	Arches     []arch // none: usualArch, or archOfProduct
	Algorithms []string
	DTypes     []collective.DType // none: float, or those of a kernel file
	Ops        []collective.Op    // likewise
	compile    bool
	changed    func(flag string) bool
}

// Bounds of the flags.
const (
	mostSchedules = 1 << 20
	mostLaunches  = 64
	mostSteps     = 1 << 40
	mostMinutes   = 31 * 24 * 60
)

// How many schedules a case has: the more, the fewer cases are asked for. The check of allreduce takes less than a
// minute on two cores, that of a kernel of 30 lines about two seconds.
const (
	fewSchedules        = 5  // everything
	collectiveSchedules = 19 // all algorithms of a collective
	usualSchedules      = 24 // chosen algorithms, or a kernel file
)

// usual is the number of schedules of each case, where the words name what is checked.
func (o *Options) usual(words []string) int {
	isWhole := func(word string) bool { return !kernelfile.IsPath(word) }
	switch {
	case len(words) == 0 && len(o.Algorithms) == 0:
		return fewSchedules
	case len(o.Algorithms) == 0 && slices.ContainsFunc(words, isWhole):
		return collectiveSchedules
	}
	return usualSchedules
}

// The models.
const hardwareModel, ptxModel = "hardware", "ptx"

// defaultSizes are in bytes: an odd number of floats, an even number, and more than a grid of two blocks takes at once.
const defaultSizes = "1004,4K,16404"

// Add adds the flags.
func (o *Options) Add(f *pflag.FlagSet) {
	f.StringVar(&o.ranks, "ranks", "2,3,4", "comma-separated `numbers` of ranks")
	f.StringVar(&o.sizes, "sizes", defaultSizes,
		"comma-separated `sizes` of calls: bytes of the larger of a rank's buffers")
	f.IntVar(&o.Launches, "launches", 3, "`number` of calls of each size, one behind the other")
	f.IntVar(&o.Schedules, "schedules", 0, fmt.Sprintf("`number` of schedules of each algorithm and number of ranks "+
		"(default %d, %d for all algorithms of a collective, and %d without a collective)", usualSchedules,
		collectiveSchedules, fewSchedules))
	f.Float64Var(&o.minutes, "minutes", 0, "end after this `number` of minutes, and go on with further schedules "+
		"until then")
	f.IntVar(&o.Steps, "steps", engine.UsualSteps, "most `turns` of hosts, streams and warps in a schedule; a warp may "+
		"execute 4 times as many instructions without a strong access")
	f.Uint64Var(&o.Seed, "seed", 1, "`seed` of schedules and inputs")
	f.StringVar(&o.strategy, "strategy", "", "comma-separated `strategies` that choose schedules in turn: "+
		strings.Join(strategyNames(), ", ")+" (default "+strings.Join(namesOf(engine.DefaultStrategies), ",")+")")
	f.StringVar(&o.model, "model", hardwareModel, "memory model, `hardware|ptx`: what current GPUs do, or what PTX "+
		"promises; what ptx alone forbids is a note")
	f.IntVar(&o.Resident, "resident", 0, "`number` of blocks of a grid that run at once; the others begin when blocks "+
		"end (default: as many as a GPU of --sim-arch holds, by threads and shared memory)")
	f.IntVar(&o.Blocks, "max-blocks", 2, fmt.Sprintf(
		"limit every grid to this number of `blocks` (default of products %d)", blocksOfProducts))
	f.StringVar(&o.arch, "sim-arch", "", "comma-separated compute `capabilities` of the devices: "+
		strings.Join(settings.SimArches(), ", ")+" (default 10.0, and of products 8.0,9.0)")
	f.StringVar(&o.algo, "algo", "",
		"comma-separated `algorithms`, or paths of kernel files; default: all of gpurun's own")
	f.StringVarP(&o.dtype, "datatype", "d", "",
		"comma-separated element `types`, or all (default float, or a kernel file's first)")
	f.StringVarP(&o.op, "op", "o", "",
		"comma-separated reduction `operations`, or all (default sum, or a kernel file's first)")
	f.IntVarP(&o.Root, "root", "r", 0, "`rank` that is the source or the destination of the data")
	f.BoolVarP(&o.Unaligned, "unaligned", "u", false, "end parts at any element")
	f.StringVar(&o.JSON, "json", "", "write the results as JSON to this `file`")
	f.StringVar(&o.SARIF, "sarif", "", "write the findings as SARIF 2.1.0 to this `file`, for code scanning")
	f.StringVar(&o.JUnit, "junit", "", "write the results as JUnit XML to this `file`")
	f.StringVar(&o.HTML, "html", "", "write the results as a page for a browser to this `file`")
	f.StringVar(&o.Suppressions, "suppressions", "", "TOML `file` with findings that are accepted, each with its reason")
	f.StringVar(&o.Timeline, "timeline", "", "draw the last events before the first finding into this SVG `file`")
	f.StringVar(&o.Replay, "replay", "", "run the schedule of this `file` again, and nothing else")
	f.StringVar(&o.Save, "save", ".", "`folder` for the schedules of findings; empty: they are not written")
	flags.AddCompile(f)
	o.Products.add(f)
	o.Litmus.add(f)
}

// withReplay are the flags that mean something beside --replay: what is run is in its file.
var withReplay = []string{"replay", "json", "sarif", "junit", "html", "suppressions", "timeline", "compile"}

// onlyWith is an error that gives a reason if a flag was given that is not among some.
func onlyWith(f *pflag.FlagSet, allowed []string, reason string) (err error) {
	f.Visit(func(x *pflag.Flag) {
		if err == nil && !slices.Contains(allowed, x.Name) {
			err = exit.Usagef("--%s: %s", x.Name, reason)
		}
	})
	return err
}

// Read checks the flags.
func (o *Options) Read(f *pflag.FlagSet) error {
	o.changed, o.compile = f.Changed, flags.MayCompile(f)
	if o.changed("replay") {
		return onlyWith(f, withReplay, "with --replay, the file says what runs")
	}
	if o.Litmus.changed(f) {
		return o.Litmus.read(f)
	}
	fewest := 0 // stands for the default
	if o.changed("schedules") {
		fewest = 1
	}
	for _, n := range []struct {
		flag        string
		value       int
		least, most int
	}{
		{"launches", o.Launches, 1, mostLaunches},
		{"steps", o.Steps, 1, mostSteps},
		{"schedules", o.Schedules, fewest, mostSchedules},
		{"max-blocks", o.Blocks, 1, collective.MaxBlocks},
		{"root", o.Root, 0, collective.MaxRanks - 1},
		{"resident", o.Resident, 0, collective.MaxBlocks},
	} {
		if n.value < n.least || n.value > n.most {
			return exit.Usagef("--%s: %d is not between %d and %d", n.flag, n.value, n.least, n.most)
		}
	}
	if !(o.minutes >= 0 && o.minutes <= mostMinutes) {
		return exit.Usagef("--minutes: %v is not between 0 and %d", o.minutes, mostMinutes)
	}
	if !slices.Contains([]string{hardwareModel, ptxModel}, o.model) {
		return exit.Usagef("--model: %w", suggest.Unknown("model", o.model, []string{hardwareModel, ptxModel}))
	}
	return errors.Join(o.readRanks(), o.readSizes(), o.readStrategies(), o.readCalls(), o.readArches(), o.Products.read())
}

// end is when the time of --minutes is over that begins now; the zero time is never.
func (o *Options) end() time.Time {
	if o.minutes == 0 {
		return time.Time{}
	}
	return time.Now().Add(time.Duration(o.minutes * float64(time.Minute)))
}

func (o *Options) readRanks() error {
	for _, word := range words(o.ranks) {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > collective.MaxRanks {
			return exit.Usagef("--ranks: %q is not a number between 1 and %d", word, collective.MaxRanks)
		}
		o.Ranks = appendOnce(o.Ranks, n)
	}
	if len(o.Ranks) == 0 {
		return exit.Usagef("--ranks: no number is given; write for example 2,3,4")
	}
	return nil
}

func (o *Options) readSizes() error {
	for _, word := range words(o.sizes) {
		var size settings.ByteSize
		if err := size.UnmarshalText([]byte(word)); err != nil {
			return exit.Usagef("--sizes: %w", err)
		}
		o.Sizes = append(o.Sizes, int64(size))
	}
	if len(o.Sizes) == 0 {
		return exit.Usagef("--sizes: no size is given; write for example %s", defaultSizes)
	}
	return nil
}

func (o *Options) readStrategies() error {
	for _, word := range words(o.strategy) {
		s, err := engine.ParseStrategy(word)
		if err != nil {
			return &exit.UsageError{Err: fmt.Errorf("--strategy: %w", suggest.Unknown("strategy", word, strategyNames()))}
		}
		o.Strategies = append(o.Strategies, s)
	}
	return nil
}

// readCalls reads the types and the operations of calls.
func (o *Options) readCalls() error {
	o.Algorithms = words(o.algo)
	if o.dtype == settings.All {
		o.DTypes = collective.DTypes()
	} else {
		for _, word := range words(o.dtype) {
			d, ok := collective.ParseDType(word)
			if !ok {
				return exit.Usagef("--datatype: %q is no element type", word)
			}
			o.DTypes = append(o.DTypes, d)
		}
	}
	if o.op == settings.All {
		o.Ops = collective.Ops()
		return nil
	}
	for _, word := range words(o.op) {
		op, ok := collective.ParseOp(word)
		if !ok {
			return &exit.UsageError{Err: fmt.Errorf("--op: %w", suggest.Unknown("operation", word, opNames()))}
		}
		o.Ops = append(o.Ops, op)
	}
	return nil
}

// opNames are the words that --op takes.
func opNames() []string {
	names := []string{settings.All}
	for _, op := range collective.Ops() {
		names = append(names, string(op))
	}
	return names
}

func strategyNames() []string { return namesOf(engine.Strategies) }

func namesOf(all []engine.Strategy) (names []string) {
	for _, s := range all {
		names = append(names, string(s))
	}
	return names
}

// words splits a list at its commas.
func words(list string) []string {
	return strings.FieldsFunc(list, func(c rune) bool { return c == ',' || c == ' ' })
}

func appendOnce[T comparable](list []T, x T) []T {
	if slices.Contains(list, x) {
		return list
	}
	return append(list, x)
}
