package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/terminal"
)

// colorFlag is taken by all commands, so that a script may give it to each, and shown for those that print verdicts.
const colorFlag = "color"

// withoutVerdicts are the names of commands that print none.
var withoutVerdicts = []string{
	"completion", "bash", "dump", "fish", "init", "inspect", "list", "powershell", "report", "show", "version", "zsh",
}

// launcherFlags is the annotation of a command with the names of the launcher's flags that it takes. A command without
// the annotation has its parent's, and the root takes all.
const launcherFlags = "launcher-flags"

// takeLauncherFlags has a command take these of the launcher's flags, which all commands inherit, and no others.
func takeLauncherFlags(cmd *cobra.Command, names ...string) {
	if cmd.Annotations == nil {
		cmd.Annotations = map[string]string{}
	}
	cmd.Annotations[launcherFlags] = strings.Join(names, " ")
}

// takeOneMachine has a command take the launcher's flags that mean something on one machine.
func takeOneMachine(cmd *cobra.Command) {
	takeLauncherFlags(cmd, slices.Concat(flags.Processes(), flags.Settings())...)
}

// takesLauncherFlag reports whether one of the launcher's flags means something to a command.
func takesLauncherFlag(cmd *cobra.Command, name string) bool {
	if name == colorFlag {
		return true
	}
	for ; cmd != nil; cmd = cmd.Parent() {
		if names, ok := cmd.Annotations[launcherFlags]; ok {
			return slices.Contains(strings.Fields(names), name)
		}
	}
	return true
}

// hideLauncherFlags hides the launcher's flags that a command does not take from its help, its pages and completion.
// Commands share these flags: a process shows one command's help.
func hideLauncherFlags(cmd *cobra.Command) {
	cmd.Root().PersistentFlags().VisitAll(func(f *pflag.Flag) {
		f.Hidden = f.Hidden || !takesLauncherFlag(cmd, f.Name) ||
			f.Name == colorFlag && slices.Contains(withoutVerdicts, cmd.Name())
	})
}

// prepare is what every command does first.
func prepare(a *program.Invocation, cmd *cobra.Command) error {
	if err := refuseLauncherFlags(cmd); err != nil {
		return err
	}
	if err := flags.ApplyJSON(cmd.Flags()); err != nil {
		return usageError(err, cmd)
	}
	a.UseLogFormat(settings.LogFormat(cmd.Flags()))
	painter, ok := a.Out.(*terminal.Painter)
	if !ok {
		return nil
	}
	when, err := cmd.Flags().GetString(colorFlag)
	if err != nil {
		return err
	}
	return painter.Set(when)
}

// refuseLauncherFlags refuses the launcher's flags that a command does not take. A command for one machine says itself
// why it refuses several: a variable or a file may ask for them, too.
func refuseLauncherFlags(cmd *cobra.Command) (err error) {
	launches := takesLauncherFlag(cmd, "device")
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
		switch {
		case !f.Changed || takesLauncherFlag(cmd, f.Name):
		case !launches:
			err = usageError(exit.Usagef("unknown flag --%s for %q%s", f.Name, cmd.CommandPath(), habit(cmd, "--"+f.Name)), cmd)
		case f.Name != "nnodes" && f.Name != "node-rank":
			err = usageError(exit.Usagef("--%s applies to collectives on several machines, not to %q", f.Name,
				cmd.CommandPath()), cmd)
		}
	})
	return err
}
