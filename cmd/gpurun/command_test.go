package main

import (
	"bytes"
	"testing"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/program"
)

// parsed is allreduce's command after reading a command line.
func parsed(t testing.TB, words ...string) *cobra.Command {
	t.Helper()
	return parsedOf(t, append([]string{"allreduce"}, words...)...)
}

func parsedOf(t testing.TB, words ...string) *cobra.Command {
	t.Helper()
	root := newRootCommand(&program.Invocation{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}})
	cmd, rest, err := root.Find(words)
	if err == nil {
		err = cmd.ParseFlags(rest)
	}
	if err != nil {
		t.Fatal(err)
	}
	return cmd
}
