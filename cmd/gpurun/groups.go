package main

import "github.com/spf13/cobra"

// The groups of commands in the help of gpurun.
const (
	runGroup      = "run"
	measureGroup  = "measure"
	checkGroup    = "check"
	diagnoseGroup = "diagnose"
	launchGroup   = "launch"
)

// addGroups adds the groups to the root, in the order of its help.
func addGroups(root *cobra.Command) {
	for _, group := range []cobra.Group{
		{ID: runGroup, Title: "Run a collective, a product of matrices or your kernel, and verify it"},
		{ID: measureGroup, Title: "Measure and compare"},
		{ID: checkGroup, Title: "Check kernels without a GPU"},
		{ID: diagnoseGroup, Title: "Diagnose this machine, or a job"},
		{ID: launchGroup, Title: "Launch a program"},
	} {
		root.AddGroup(&group)
	}
}
