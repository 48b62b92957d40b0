package main

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/bench"
	"gpurun/cmd/gpurun/phrase"
	"gpurun/cmd/gpurun/plan"
	"gpurun/cmd/gpurun/smoke"
	"gpurun/cmd/gpurun/sources"
	"gpurun/cmd/gpurun/tune"
	"gpurun/configs"
	"gpurun/kernels/matmul"
)

// showDefaultsInHelp adds the defaults to the flags of a command when its help is
// shown, and not before: every process of a run makes the commands, and hardly one shows
// help.
func showDefaultsInHelp(root *cobra.Command) {
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if err := showDefaults(cmd); err != nil {
			cmd.PrintErrln("gpurun:", err)
		}
		help(cmd, args)
	})
}

// refuseUnknownTopics has help and completion refuse words that name nothing, where cobra's own show
// what there is, and succeed.
func refuseUnknownTopics(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Run, c.RunE = nil, func(_ *cobra.Command, words []string) error {
				about, unknown, err := root.Find(words)
				if err != nil || len(unknown) > 0 {
					return unknownCommand(root, words[len(words)-max(len(unknown), 1)])
				}
				about.InitDefaultHelpFlag()
				return about.Help()
			}
		case "completion":
			shells := c.Commands()
			c.Args = cobra.ArbitraryArgs
			c.RunE = func(c *cobra.Command, words []string) error {
				if len(words) == 0 {
					return c.Help()
				}
				var names []string
				for _, shell := range shells {
					names = append(names, shell.Name())
				}
				return hinted(phrase.Unknown("shell", words[0], names), c)
			}
		}
	}
}

// showDefaults adds the defaults to the help of a command's flags, and of those that it
// inherits.
func showDefaults(cmd *cobra.Command) error {
	usual, err := sources.Defaults(configs.Default)
	if err != nil {
		return err
	}
	simulated, err := sources.Defaults(configs.Simulator)
	if err != nil {
		return err
	}
	show := func(simulated map[string]any, profiles ...map[string]any) func(*pflag.Flag) {
		return func(f *pflag.Flag) { showDefault(f, simulated, profiles) }
	}
	cmd.Root().PersistentFlags().VisitAll(show(simulated, usual))
	if !cmd.HasParent() {
		return nil
	}
	why := purposeOf(cmd)
	own, err := sources.Defaults(why.Profiles...)
	if err != nil {
		return err
	}
	ownSimulated, err := sources.Defaults(why.Simulator...)
	if err != nil {
		return err
	}
	maps.Copy(simulated, ownSimulated)
	cmd.LocalNonPersistentFlags().VisitAll(show(simulated, own, usual))
	return nil
}

// purposeOf is what sets a command's runs apart: it changes the defaults.
func purposeOf(cmd *cobra.Command) plan.Purpose {
	_, product := matmul.Find(cmd.Name())
	switch name := cmd.Name(); {
	case product && cmd.Parent().Name() == benchCommand:
		return bench.ProductPurpose()
	case product:
		return productPurpose()
	case name == benchCommand:
		return bench.Purpose()
	case name == tuneCommand:
		return tune.Purpose()
	case name == smokeCommand:
		return smoke.Purpose()
	}
	return plan.Purpose{}
}

// showDefault adds to a flag's help the value of the first profile that has one.
// A default of the flag's own is shown already.
func showDefault(f *pflag.Flag, simulated map[string]any, profiles []map[string]any) {
	if !slices.Contains([]string{"", "0", "false"}, f.DefValue) {
		return
	}
	for _, profile := range profiles {
		value, ok := profile[f.Name]
		if !ok {
			continue
		}
		text := fmt.Sprint(value)
		if other, ok := simulated[f.Name]; ok {
			text += fmt.Sprintf(", %v in the simulator", other)
		}
		if !slices.Contains([]string{"", "0", "false"}, text) {
			f.Usage += " (default " + text + ")"
		}
		return
	}
}
