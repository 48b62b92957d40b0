// Package flagtest reads command lines for tests of what is made of them.
package flagtest

import (
	"testing"

	"github.com/spf13/pflag"

	"gpurun/cmd/gpurun/flags"
	"gpurun/kernels"
)

// Parse reads a command's words into the flags that all commands inherit, and those that add
// adds.
func Parse(t testing.TB, add func(*pflag.FlagSet), words ...string) *pflag.FlagSet {
	t.Helper()
	f := pflag.NewFlagSet(t.Name(), pflag.ContinueOnError)
	flags.AddLauncher(f)
	add(f)
	if err := f.Parse(words); err != nil {
		t.Fatal(err)
	}
	return f
}

// Collective reads the words behind the name of a collective.
func Collective(t testing.TB, name string, words ...string) *pflag.FlagSet {
	t.Helper()
	what, ok := kernels.Find(name)
	if !ok {
		t.Fatalf("there is no %s", name)
	}
	return Parse(t, func(f *pflag.FlagSet) { flags.AddCollective(f, what) }, words...)
}
