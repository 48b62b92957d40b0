package terminal

import (
	"bytes"
	"errors"
	"testing"

	"gpurun/cmd/gpurun/exit"
)

const verdicts = "PASS: all\nOK    driver\nit is OK\n# Out of bounds values : 0 OK\nWARN: 1\nFAIL  links\n" +
	"# wrong : 12 FAILED\n# FAILED: 1 of 12 cases\n"

const painted = "\x1b[32mPASS\x1b[0m: all\n\x1b[32mOK\x1b[0m    driver\nit is OK\n" +
	"# Out of bounds values : \x1b[32m0 OK\x1b[0m\n\x1b[33mWARN\x1b[0m: 1\n\x1b[31mFAIL\x1b[0m  links\n" +
	"# wrong : \x1b[31m12 FAILED\x1b[0m\n\x1b[31m# FAILED\x1b[0m: 1 of 12 cases\n"

// Colors are for terminals, unless the environment or --color decides otherwise.
func TestPainter(t *testing.T) {
	for _, c := range []struct {
		environment map[string]string
		when, want  string
	}{
		{nil, Auto, verdicts},
		{nil, Always, painted},
		{map[string]string{"CLICOLOR_FORCE": "1"}, Auto, painted},
		{map[string]string{"CLICOLOR_FORCE": "0"}, Auto, verdicts},
		{map[string]string{"CLICOLOR_FORCE": "1", "NO_COLOR": "1"}, Auto, verdicts},
		{map[string]string{"CLICOLOR_FORCE": "1"}, Never, verdicts},
		{map[string]string{"NO_COLOR": "1"}, Always, painted},
	} {
		var out bytes.Buffer
		p := NewPainter(&out, func(name string) string { return c.environment[name] })
		if err := p.Set(c.when); err != nil {
			t.Fatal(err)
		}
		if n, err := p.Write([]byte(verdicts)); n != len(verdicts) || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
		if out.String() != c.want {
			t.Errorf("%v, --color %s: %q, want %q", c.environment, c.when, out.String(), c.want)
		}
	}
	var usage *exit.UsageError
	if err := NewPainter(nil, func(string) string { return "" }).Set("sometimes"); !errors.As(err, &usage) {
		t.Errorf("%v is no usage error", err)
	}
}
