package launch

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/node"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/slurm"
	"gpurun/cmd/gpurun/suggest"
	"gpurun/cmd/gpurun/torchrun"
)

// Words are the words of a command line that launches a program.
type Words struct {
	// Own has gpurun's flags and torchrun's; those of the line are not yet set.
	Own *pflag.FlagSet
	// Options are torchrun's, which are yet to be taken from the line.
	Options *torchrun.Options
	Line    torchrun.Line
	Hint    string // where the usage of the command stands
}

// bad makes a usage error of what is wrong with the words.
func (w Words) bad(err error) error { return &exit.UsageError{Err: err, Hint: w.Hint} }

// told is gpurun's own settings, from the command line, the environment and Slurm.
type told struct {
	sources *settings.Sources
	step    *slurm.Step // whose task this process is; nil for none
	remark  string      // printed before the run; may be empty
}

// take reads the line into gpurun's own flags and settings, and into torchrun's options. A
// plain torchrun does not read Slurm's variables.
func (w Words) take(plain bool) (s told, err error) {
	for _, set := range w.Line.Settings {
		if w.Options.Flags().Lookup(set.Flag.Name) == set.Flag {
			continue
		}
		if err := w.Own.Set(set.Flag.Name, set.Value); err != nil {
			return s, w.bad(err)
		}
	}
	if s.sources, err = settings.Load(w.Own); err != nil {
		return s, err
	}
	if !plain {
		if s.step, s.remark, err = node.ApplySlurmStep(s.sources, &w.Line); err != nil {
			return s, err
		}
	}
	if err := w.Options.Take(w.Line, s.sources.Lookup); err != nil {
		return s, w.bad(err)
	}
	return s, nil
}

// forCollectives are those of gpurun's flags that mean nothing to a program.
func forCollectives() []string { return []string{"device", "require-gpu", "oversubscribe"} }

// refuse refuses what a program cannot have.
func (w Words) refuse() error {
	for _, name := range forCollectives() {
		if w.Own.Changed(name) {
			return w.bad(fmt.Errorf("--%s applies to collectives, not to the command %s", name, w.Options.Words[0]))
		}
	}
	folder := w.Options.LogDir
	if info, err := os.Stat(folder); folder != "" && err == nil && !info.IsDir() {
		return w.bad(fmt.Errorf("--log-dir: %s is a file, not a directory", folder))
	}
	return nil
}

// refuseMissingRanks refuses flags about local ranks that this machine does not have.
func (w Words) refuseMissingRanks(workers int) error {
	o := w.Options
	for _, f := range []struct {
		flag string
		rank int
	}{
		{"redirects", o.Redirects.Beyond(workers)},
		{"tee", o.Tee.Beyond(workers)},
		{"local-ranks-filter", o.LocalRanksFilter.Beyond(workers)},
	} {
		if f.rank >= 0 {
			return w.bad(fmt.Errorf("%s: there is no local rank %d: this machine runs %s, and local ranks count from 0",
				o.Source(f.flag), f.rank, suggest.Count(workers, "process", "processes")))
		}
	}
	return nil
}

// AddFlags adds torchrun's flags, and those of gpurun's that torchrun has not. Those that mean
// nothing to a program are hidden.
func AddFlags(f *pflag.FlagSet, options *torchrun.Options) {
	own := pflag.NewFlagSet("gpurun", pflag.ContinueOnError)
	flags.AddLauncher(own)
	flags.AddCommand(own)
	for _, name := range forCollectives() {
		own.Lookup(name).Hidden = true
	}
	f.AddFlagSet(options.Flags())
	f.AddFlagSet(own)
}
