package main

import (
	"slices"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/program"
	"gpurun/kernels"
	"gpurun/kernels/matmul"
)

// command is one of gpurun's own, in a group of its help. To make all of them takes a third of the time in which
// gpurun starts, most of it for the kernels of collectives.
type command struct {
	name, group string
	make        func() *cobra.Command
}

// commands are gpurun's own, in the order of its help. A new command is added here, and has a file of its own.
func commands(a *program.Invocation) []command {
	var all []command
	add := func(group, name string, made func(*program.Invocation) *cobra.Command) {
		all = append(all, command{name, group, func() *cobra.Command { return made(a) }})
	}
	for _, name := range kernels.Names() {
		add(runGroup, name, func(a *program.Invocation) *cobra.Command {
			c, _ := kernels.Find(name)
			return newCollectiveCommand(a, c)
		})
	}
	for _, name := range matmul.Names() {
		add(runGroup, name, func(a *program.Invocation) *cobra.Command {
			o, _ := matmul.Find(name)
			return newProductCommand(a, o)
		})
	}
	add(runGroup, kernelCommand, newKernelCommand)
	add(measureGroup, benchCommand, newBenchCommand)
	add(measureGroup, "compare", newCompareCommand)
	add(measureGroup, tuneCommand, newTuneCommand)
	add(measureGroup, "report", newReportCommand)
	add(checkGroup, checkCommand, newCheckCommand)
	add(checkGroup, "inspect", newInspectCommand)
	add(diagnoseGroup, "doctor", newDoctorCommand)
	add(diagnoseGroup, smokeCommand, newSmokeCommand)
	add(diagnoseGroup, "dump", newDumpCommand)
	add("", "list", newListCommand)
	add("", "version", newVersionCommand)
	return all
}

// named is the command with a name, alone, or all commands: the word may be an alias, or misspelled.
func named(word string, all []command) []command {
	if i := slices.IndexFunc(all, func(c command) bool { return c.name == word }); i >= 0 {
		return all[i : i+1]
	}
	return all
}
