package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/plan"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/suggest"
	"gpurun/configs"
)

// showDefaultsInHelp adds the defaults to the flags of a command when its help is shown, and
// not before: every process of a run makes the commands, and few show help. A command whose
// defaults differ calls showDefaultsOf itself.
func showDefaultsInHelp(root *cobra.Command) { showDefaultsOf(root, plan.Options{}) }

// showDefaultsOf has the help of a command show the defaults that its options make.
func showDefaultsOf(cmd *cobra.Command, o plan.Options) {
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		hideLauncherFlags(cmd)
		if err := addDefaults(cmd, o); err != nil {
			cmd.PrintErrln("gpurun:", err)
			return
		}
		_ = writeHelp(cmd.OutOrStdout(), cmd) // errorKeeper keeps the error
	})
}

// refuseUnknownTopics has help and completion refuse words that name no command. cobra's own
// commands show their help, and succeed.
func refuseUnknownTopics(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			takeLauncherFlags(c)
			c.Run, c.RunE = nil, func(_ *cobra.Command, words []string) error {
				about, unknown, err := root.Find(words)
				if err != nil || len(unknown) > 0 {
					return unknownCommand(root, words[len(words)-max(len(unknown), 1)])
				}
				about.InitDefaultHelpFlag()
				return about.Help()
			}
		case "completion":
			takeLauncherFlags(c)
			shells := c.Commands()
			for _, shell := range shells {
				shell.Args = noArguments
			}
			c.Args = cobra.ArbitraryArgs
			c.RunE = func(c *cobra.Command, words []string) error {
				if len(words) == 0 {
					return c.Help()
				}
				var names []string
				for _, shell := range shells {
					names = append(names, shell.Name())
				}
				return usageError(suggest.Unknown("shell", words[0], names), c)
			}
		}
	}
}

// addDefaults adds the defaults to the help of a command's flags, and of those that it
// inherits, whose defaults are the same for all commands.
func addDefaults(cmd *cobra.Command, o plan.Options) error {
	inherited, simulated, err := defaultsOf(plan.Options{})
	if err != nil {
		return err
	}
	common := func(f *pflag.Flag) { addDefault(f, inherited, simulated) }
	cmd.Root().PersistentFlags().VisitAll(common)
	if !cmd.HasParent() {
		cmd.LocalNonPersistentFlags().VisitAll(common)
		return nil
	}
	if !takesLauncherFlag(cmd, "device") {
		return nil // the command has its defaults itself
	}
	own, simulated, err := defaultsOf(o)
	if err != nil {
		return err
	}
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { addDefault(f, own, simulated) })
	return nil
}

// defaultsOf returns the defaults that options make, by flag, and those that differ in the
// simulator.
func defaultsOf(o plan.Options) (all, simulated map[string]any, err error) {
	if all, err = settings.Defaults(slices.Concat([][]byte{configs.Default}, o.Profiles)...); err != nil {
		return nil, nil, err
	}
	simulated, err = settings.Defaults(slices.Concat([][]byte{configs.Simulator}, o.SimulatorProfiles)...)
	return all, simulated, err
}

// addDefault adds the default to a flag's help. A default of the flag's own is shown already.
func addDefault(f *pflag.Flag, all, simulated map[string]any) {
	unset := []string{"", "0", "false"}
	value, ok := all[f.Name]
	if !ok || !slices.Contains(unset, f.DefValue) {
		return
	}
	text := fmt.Sprint(value)
	if other, ok := simulated[f.Name]; ok {
		text += fmt.Sprintf(", %v in the simulator", other)
	}
	if !slices.Contains(unset, text) {
		f.Usage += " (default " + text + ")"
	}
}
