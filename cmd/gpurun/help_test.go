package main

import (
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

// Help shows the defaults that a command's runs have, not those of usual ones.
func TestHelpShowsTheDefaultsOfTheCommand(t *testing.T) {
	for _, c := range []struct{ command, flag, want string }{
		{"allreduce", "maxbytes", "(default 64M, 1M in the simulator)"},
		{"bench", "maxbytes", "(default 256M, 64K in the simulator)"},
		{"bench allgather-matmul", "iters", "(default 10, 1 in the simulator)"},
		{"allgather-matmul", "iters", "(default 20, 3 in the simulator)"},
		{"tune", "maxbytes", "(default 256M, 1M in the simulator)"},
		{"smoke", "timeout", "(default 20s)"},
	} {
		cmd := parsedOf(t, strings.Fields(c.command)...)
		cmd.SetOut(io.Discard)
		cmd.SetErr(testWriter{t})
		cmd.HelpFunc()(cmd, nil)
		if usage := cmd.Flags().Lookup(c.flag).Usage; !strings.HasSuffix(usage, c.want) {
			t.Errorf("%s: --%s: %s; want %s", c.command, c.flag, usage, c.want)
		}
	}
}

// Help fits a terminal of 100 columns, has examples before flags, and each flag in a group.
func TestHelpIsOrdered(t *testing.T) {
	const columns = 100
	for _, c := range documented(t) {
		if strings.HasPrefix(c.CommandPath(), "gpurun completion") {
			continue // cobra's texts
		}
		var b strings.Builder
		if err := writeHelp(&b, c); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		for line := range strings.Lines(text) {
			if n := utf8.RuneCountInString(line) - 1; n > columns {
				t.Errorf("%s: %d columns: %s", c.CommandPath(), n, line)
			}
		}
		if c.HasExample() && !(strings.Index(text, "\nExamples:") < strings.Index(text, "\nUsage:")) {
			t.Errorf("%s: the usage precedes the examples", c.CommandPath())
		}
		_, others, _ := strings.Cut(text, "\nOthers:\n")
		for line := range strings.Lines(others) {
			if strings.Contains(line, "--") && !strings.Contains(line, "--help") && !strings.Contains(line, "--version") {
				t.Errorf("%s: a flag is in no group: %s", c.CommandPath(), line)
			}
		}
	}
}

// testWriter fails the test when something is written, such as an error.
type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Errorf("%s", p)
	return len(p), nil
}
