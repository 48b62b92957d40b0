package main

import (
	"io"
	"strings"
	"testing"
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

// testWriter fails the test when something is written, such as an error.
type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Errorf("%s", p)
	return len(p), nil
}
