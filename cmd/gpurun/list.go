package main

import (
	"errors"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/kernelcode"
	"gpurun/cmd/gpurun/list"
	"gpurun/cmd/gpurun/outcome"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/suggest"
	"gpurun/kernels/kernelfile"
)

const listLong = `list lists the algorithms of all collectives and products, and says which of them run on this
machine. For a collective or an algorithm that a word names, list prints everything: operations
and types, epilogues, needs, and why it does not run here. A type, as a word or by -d, limits
the list to the algorithms that support it. list describes the kernels of kernel files, too.`

const listExample = `  gpurun list
  gpurun list allreduce -d half
  gpurun list twoshot
  gpurun list --json | jq -r '.algorithms[] | select(.sim == "yes").algorithm'`

func newListCommand(a *program.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list [COLLECTIVE|ALGORITHM|TYPE|KERNEL FILE...]",
		Short:   "List collectives and products with their algorithms, and which of these run on this machine",
		Long:    listLong,
		Example: listExample,
	}
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return benchNames(), cobra.ShellCompDirectiveDefault // kernel files, too
	}
	var o listOptions
	f := cmd.Flags()
	f.StringSliceVarP(&o.types, "datatype", "d", nil, "list only what has one of these comma-separated element `types`")
	f.StringSliceVarP(&o.ops, "op", "o", nil, "list only what has one of these comma-separated reduction `operations`")
	f.StringVar(&o.arch, "sim-arch", settings.DefaultSimArch,
		"compute capability of the simulator's devices, `8.0|8.6|8.9|9.0|10.0`")
	f.StringVar(&o.output, "output", "", "`format` of the list: table or json")
	flags.AddJSON(f)
	flags.AddCompile(f)
	takeLauncherFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, words []string) error {
		if formats := []string{"table", "json"}; o.output != "" && !slices.Contains(formats, o.output) {
			return &exit.UsageError{Err: suggest.Unknown("output format", o.output, formats)}
		}
		if !slices.Contains(settings.SimArches(), o.arch) {
			return &exit.UsageError{Err: suggest.Unknown("compute capability", o.arch, settings.SimArches())}
		}
		if !slices.ContainsFunc(words, kernelfile.IsPath) {
			return o.show(cmd, a, words)
		}
		// A file may run a command: it is guarded, so that nothing is left of it.
		return outcome.Annotated(a, "gpurun list", a.Guarded(func() error { return o.showFiles(cmd, a, words) }))
	}
	return cmd
}

// listOptions are the flags of list.
type listOptions struct {
	types, ops   []string
	arch, output string
}

// show lists gpurun's own algorithms that words and flags name.
func (o listOptions) show(cmd *cobra.Command, a *program.Invocation, words []string) error {
	l, err := list.New(o.arch)
	if err != nil {
		return err
	}
	var f list.Filter
	for _, word := range words {
		err = errors.Join(err, f.Add(l, word))
	}
	for _, word := range o.types {
		err = errors.Join(err, f.AddType(word))
	}
	for _, word := range o.ops {
		err = errors.Join(err, f.AddOp(word))
	}
	if err != nil {
		return usageError(&exit.UsageError{Err: err}, cmd)
	}
	if l = l.Only(f); len(l.Algorithms) == 0 {
		return exit.Usagef("no algorithm is all of that: leave out a word or a flag")
	}
	return o.print(l, a.Out, f.Detailed())
}

// showFiles lists the kernels of kernel files.
func (o listOptions) showFiles(cmd *cobra.Command, a *program.Invocation, files []string) error {
	for _, file := range files {
		if !kernelfile.IsPath(file) {
			return usageError(exit.Usagef("%q is no kernel file: list takes names or kernel files, not both", file), cmd)
		}
	}
	if len(o.types)+len(o.ops) > 0 {
		return usageError(exit.Usagef("--datatype and --op apply to gpurun's own algorithms, not to kernel files"), cmd)
	}
	bundles, err := loadToList(cmd, a, files)
	if err != nil {
		return err
	}
	l, err := list.Files(o.arch, bundles)
	if err != nil {
		return err
	}
	return o.print(l, a.Out, true)
}

// print writes a list in the form that is asked for.
func (o listOptions) print(l list.Listing, w io.Writer, detailed bool) error {
	switch {
	case o.output == "json":
		return l.JSON(w)
	case detailed:
		return l.Describe(w)
	}
	return l.Print(w)
}

// loadToList loads kernel files for the first number of ranks that each is for.
func loadToList(cmd *cobra.Command, a *program.Invocation, files []string) (bundles []*kernelfile.Bundle, err error) {
	const fewRanks = 2
	for _, file := range files {
		f, text, err := kernelcode.Read(file)
		if err != nil {
			return nil, err
		}
		o := kernelcode.Options{World: fewRanks, Compile: flags.MayCompile(cmd.Flags()), Notify: notify(a)}
		if len(f.World) > 0 {
			o.World = f.World[0]
		}
		b, err := kernelcode.Load(cmd.Context(), f, text, o)
		if err != nil {
			return nil, err
		}
		bundles = append(bundles, b)
	}
	return bundles, nil
}
