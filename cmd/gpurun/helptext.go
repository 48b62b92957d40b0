package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/flags"
	"gpurun/cmd/gpurun/suggest"
	"gpurun/cmd/gpurun/terminal"
)

const (
	helpWidth  = 100 // columns, except on a narrower terminal
	firstFlags = 5   // shown in front of the groups
	fewFlags   = 10  // need no groups
	nameWidth  = 24  // columns of a name in a list
)

// writeHelp writes the help of a command: what it does, examples, usage, details, commands and flags.
func writeHelp(w io.Writer, cmd *cobra.Command) error {
	var b strings.Builder
	width := terminal.TextWidth(w, helpWidth)
	summary, details, _ := strings.Cut(strings.TrimSpace(cmd.Long), "\n\n")
	if summary == "" {
		summary = cmd.Short + "."
	}
	fmt.Fprintln(&b, strings.Join(suggest.Wrap(summary, width), "\n"))
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", fitExamples(cmd.Example, width))
	}
	fmt.Fprintf(&b, "\nUsage:\n")
	if cmd.Runnable() {
		fmt.Fprintf(&b, "  %s\n", cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() && cmd.HasParent() {
		fmt.Fprintf(&b, "  %s COMMAND\n", cmd.CommandPath())
	}
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(&b, "\nOther names: %s\n", strings.Join(cmd.Aliases, ", "))
	}
	if details != "" {
		fmt.Fprintf(&b, "\n%s\n", reflow(details, width))
	}
	writeCommands(&b, cmd, width)
	writeFlags(&b, cmd, width)
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n'%s COMMAND --help' shows the flags of a command.\n", cmd.CommandPath())
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// reflow breaks paragraphs again for a terminal that is narrower than helpWidth. Lists, which are indented, stay.
func reflow(text string, width int) string {
	if width >= helpWidth {
		return text
	}
	paragraphs := strings.Split(text, "\n\n")
	for i, p := range paragraphs {
		if !strings.Contains(p, "\n ") && !strings.HasPrefix(p, " ") {
			paragraphs[i] = strings.Join(suggest.Wrap(p, width), "\n")
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// fitExamples puts what is said about an example in front of it, where a line has no room for both.
func fitExamples(text string, width int) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		command, about, found := strings.Cut(strings.TrimSpace(line), "  ")
		if found && len(line) > width {
			lines[i] = "  # " + strings.TrimSpace(about) + "\n  " + command
		}
	}
	return strings.Join(lines, "\n")
}

// writeCommands lists the commands below a command, by their groups.
func writeCommands(b *strings.Builder, cmd *cobra.Command, width int) {
	if !cmd.HasAvailableSubCommands() {
		return
	}
	for _, group := range append(cmd.Groups(), &cobra.Group{Title: "Commands"}) {
		var lines []string
		for _, c := range cmd.Commands() {
			if c.GroupID == group.ID && (c.IsAvailableCommand() || c.Name() == "help") {
				lines = append(lines, entry(c.Name(), c.Short, width))
			}
		}
		if group.ID == launchGroup {
			lines = append(lines, entry("SCRIPT.py, COMMAND,", "Run a program in several processes, as torchrun does", width),
				"  -m MODULE")
		}
		if len(lines) > 0 {
			fmt.Fprintf(b, "\n%s:\n%s\n", group.Title, strings.Join(lines, "\n"))
		}
	}
}

// entry is a line of a list, or several: a name and a text about it.
func entry(name, text string, width int) string {
	return strings.TrimSuffix(suggest.Indented(fmt.Sprintf("  %-*s", nameWidth-2, name), text, width), "\n")
}

// writeFlags lists the flags that a command takes: those that people need first, then all others by their groups.
func writeFlags(b *strings.Builder, cmd *cobra.Command, width int) {
	var shown []*pflag.Flag
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden && f.Deprecated == "" {
			shown = append(shown, f)
		}
	})
	if len(shown) <= fewFlags {
		writeGroup(b, "Flags", shown, width)
		return
	}
	first := firstOf(shown)
	shown = slices.DeleteFunc(shown, func(f *pflag.Flag) bool { return slices.Contains(first, f) })
	writeGroup(b, "Flags that are needed most", first, width)
	for _, group := range flags.Groups() {
		var in []*pflag.Flag
		for _, f := range shown {
			if group.Has(f.Name) {
				in = append(in, f)
			}
		}
		writeGroup(b, group.Title, in, width)
		shown = slices.DeleteFunc(shown, func(f *pflag.Flag) bool { return group.Has(f.Name) })
	}
	writeGroup(b, "Others", shown, width)
}

// firstOf are the flags that people need first.
func firstOf(shown []*pflag.Flag) (first []*pflag.Flag) {
	for _, name := range flags.First() {
		i := slices.IndexFunc(shown, func(f *pflag.Flag) bool { return f.Name == name })
		if i >= 0 && len(first) < firstFlags {
			first = append(first, shown[i])
		}
	}
	return first
}

// writeGroup lists flags under a title.
func writeGroup(b *strings.Builder, title string, list []*pflag.Flag, width int) {
	if len(list) == 0 {
		return
	}
	set := pflag.NewFlagSet(title, pflag.ContinueOnError)
	set.SortFlags = false
	for _, f := range list {
		set.AddFlag(f)
	}
	fmt.Fprintf(b, "\n%s:\n%s", title, set.FlagUsagesWrapped(width))
}
