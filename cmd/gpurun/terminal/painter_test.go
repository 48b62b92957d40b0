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

// No escape sequence comes from data, also if a character is written in two pieces.
func TestPainterEscapesControlCharacters(t *testing.T) {
	var out bytes.Buffer
	p := NewPainter(&out, func(string) string { return "" })
	for _, piece := range []string{"a\x1b[31m \xe6\xbc", "\xa2\xff\n", "\xc2", "\x9b"} {
		if n, err := p.Write([]byte(piece)); n != len(piece) || err != nil {
			t.Errorf("%q: %d, %v", piece, n, err)
		}
	}
	if want := `a\u001b[31m 漢\xff` + "\n" + `\u009b`; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
	}
	if _, err := p.Unchanged().Write([]byte("\x1b")); err != nil || !bytes.HasSuffix(out.Bytes(), []byte("\x1b")) {
		t.Errorf("%q, %v", out.String(), err)
	}
}
