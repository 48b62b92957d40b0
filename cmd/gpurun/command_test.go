package main

import (
	"bytes"
	"testing"

	"github.com/spf13/cobra"

	"gpurun/cmd/gpurun/program"
	"gpurun/kernels"
)

// parsedOf is a command after reading a command line, which begins with its name.
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

// A collective is found by each of its names, and once; no name stands for all.
func TestCollectivesNamed(t *testing.T) {
	for _, c := range []struct {
		words []string
		want  int
	}{
		{nil, len(kernels.Collectives())},
		{[]string{"allreduce", "reduce", "all-reduce"}, 2},
		{[]string{"allreduce", "nosuch"}, 0},
	} {
		if got, err := collectivesNamed(c.words); len(got) != c.want || (err == nil) != (c.want > 0) {
			t.Errorf("%q: %d collectives, %v", c.words, len(got), err)
		}
	}
}

// A command is made alone when its name is given, and has that name. Other words make all commands.
func TestCommandsNamed(t *testing.T) {
	all := commands(&program.Invocation{})
	for _, c := range all {
		if one := named(c.name, all); len(one) != 1 || one[0].make().Name() != c.name {
			t.Errorf("%s: %d commands", c.name, len(one))
		}
	}
	for _, word := range []string{"all-reduce", "nosuch"} {
		if some := named(word, all); len(some) != len(all) {
			t.Errorf("%s: %d commands", word, len(some))
		}
	}
}
