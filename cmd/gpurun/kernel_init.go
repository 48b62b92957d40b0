package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/kerneldraft"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/suggest"
	"gpurun/kernels/collective"
)

const kernelInitLong = `init drafts a kernel file for a kernel in PTX or a cubin, and writes it beside the code. The
draft has a launch of the kernel and an argument for each of its parameters. What the code
does not say is a guess, marked with a question mark.

With --of, init writes one of gpurun's own algorithms as a kernel file, with its PTX: to
FILE.toml, or else to ALGORITHM.toml in this folder. It runs as the algorithm itself does, and
is an example of a complete file.`

const kernelInitExample = `  gpurun kernel init oneshot.ptx
  gpurun kernel init kernels.ptx --entry one_shot_all_reduce_kernel
  gpurun kernel init --of oneshot
  gpurun kernel init --of pull --collective allgather --type bfloat16,half gather.toml`

func newKernelInitCommand(a *program.Invocation) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "init FILE.ptx|FILE.cubin",
		Short:   "Draft a kernel file for PTX or a cubin",
		Long:    kernelInitLong,
		Example: kernelInitExample,
	}
	var o initOptions
	f := cmd.Flags()
	f.StringVar(&o.entry, "entry", "", "`name` of the kernel; default: the only one")
	f.StringVar(&o.of, "of", "", "write this `algorithm` of gpurun's own")
	f.StringVar(&o.collective, "collective", "allreduce", "`collective` of the algorithm of --of")
	f.StringSliceVar(&o.types, "type", []string{"float"}, "comma-separated element `types` for --of")
	f.BoolVar(&o.force, "force", false, "replace files that exist")
	takeLauncherFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, words []string) error {
		folder, files, err := o.files(cmd, words)
		if err != nil {
			return err
		}
		if err := o.write(folder, files); err != nil {
			return err
		}
		for _, file := range files {
			if _, err := fmt.Fprintf(a.Out, "wrote %s\n", filepath.Join(folder, file.Name)); err != nil {
				return err
			}
		}
		return nil
	}
	return cmd
}

// initOptions are the flags of init.
type initOptions struct {
	entry, of, collective string
	types                 []string
	force                 bool
}

// files makes what is to be written, the kernel file first.
func (o initOptions) files(cmd *cobra.Command, words []string) (folder string, files []kerneldraft.File, err error) {
	switch {
	case o.of == "" && len(words) != 1:
		return "", nil, usageError(exit.Usagef("init needs one file of PTX or a cubin, or --of"), cmd)
	case o.of != "" && len(words) > 1, o.of != "" && o.entry != "":
		return "", nil, usageError(exit.Usagef("--of takes one kernel file to write, and no --entry"), cmd)
	case o.of == "" && (cmd.Flags().Changed("collective") || cmd.Flags().Changed("type")):
		return "", nil, usageError(exit.Usagef("--collective and --type belong to --of"), cmd)
	case o.of != "":
		return o.own(words)
	}
	if err := isCode(words[0]); err != nil {
		return "", nil, err
	}
	code, err := settings.ReadFile(words[0], maxCodeBytes)
	if err != nil {
		return "", nil, exit.Usagef("reading GPU code: %w", err)
	}
	draft, err := kerneldraft.Draft(words[0], code, o.entry)
	if err != nil {
		return "", nil, &exit.UsageError{Err: err}
	}
	name := filepath.Base(words[0])
	name = strings.TrimSuffix(name, filepath.Ext(name)) + ".toml"
	return filepath.Dir(words[0]), []kerneldraft.File{{Name: name, Text: draft}}, nil
}

// own makes the files of one of gpurun's own algorithms.
func (o initOptions) own(words []string) (folder string, files []kerneldraft.File, err error) {
	var types []collective.DType
	for _, word := range o.types {
		d, ok := collective.ParseDType(word)
		if !ok {
			var valid []string
			for _, d := range collective.DTypes() {
				valid = append(valid, d.Name)
			}
			return "", nil, &exit.UsageError{Err: suggest.Unknown("element type", word, valid)}
		}
		types = append(types, d)
	}
	if files, err = kerneldraft.Own(o.collective, o.of, types); err != nil {
		return "", nil, &exit.UsageError{Err: err}
	}
	if len(words) == 0 {
		return ".", files, nil
	}
	if filepath.Ext(words[0]) != ".toml" {
		return "", nil, exit.Usagef("%s: the kernel file to write ends in .toml", words[0])
	}
	files[0].Name = filepath.Base(words[0])
	return filepath.Dir(words[0]), files, nil
}

// write writes the files. Without --force it replaces none, and writes nothing if one exists.
func (o initOptions) write(folder string, files []kerneldraft.File) error {
	for _, file := range files {
		path := filepath.Join(folder, file.Name)
		if _, err := os.Lstat(path); err == nil && !o.force {
			return exit.Usagef("%s exists: write --force to replace it", path)
		}
	}
	mode := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if o.force {
		mode = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	for _, file := range files {
		f, err := os.OpenFile(filepath.Join(folder, file.Name), mode, 0o644)
		if err != nil {
			return &exit.EnvironmentError{Err: err}
		}
		_, err = f.Write(file.Text)
		if err := errors.Join(err, f.Close()); err != nil {
			return &exit.EnvironmentError{Err: err}
		}
	}
	return nil
}
