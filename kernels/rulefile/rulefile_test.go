package rulefile

import (
	"errors"
	"testing"
)

type document struct {
	Name string `toml:"name"`
	Rule []rule `toml:"rule"`
}

type rule struct {
	World int `toml:"world"`
}

func TestDecode(t *testing.T) {
	for text, want := range map[string]string{
		"name = \"x\"\n[[rule]]\nworld = 2\n": "",
		"name = \"x\"\nworlds = 1\n":          `f.toml:2: unknown key "worlds"; there is name`,
		"name = \"x\"\n[[rule]]\nwolrd = 2\n": `f.toml:3: unknown key "rule.wolrd"; there is name`,
		"name = 1": "f.toml:1: toml: cannot decode TOML integer into struct field " +
			"rulefile.document.Name of type string",
		"name = ":           "f.toml:1: toml: expected value, not eof",
		"name = 2026-11-21": `f.toml: a date or time stands bare; write it in quotes, for example "2026-11-21"`,
		"name = \"x\"\n[[rule]]\nworld = \"two\"": "f.toml:3: toml: cannot decode TOML string into struct field " +
			"rulefile.rule.World of type int",
	} {
		var d document
		got := ""
		if err := Decode("f.toml", []byte(text), &d, "there is name"); err != nil {
			got = err.Error()
		} else if d.Name != "x" || len(d.Rule) != 1 || d.Rule[0].World != 2 {
			t.Errorf("%q: read %+v", text, d)
		}
		if got != want {
			t.Errorf("%q: got  %s\nwant %s", text, got, want)
		}
	}
}

func TestBlame(t *testing.T) {
	text := []byte("# rules\n\n[[rule]]\nworld = 1\n  [[rule]] # again\n")
	for rule, want := range []string{"f.toml:3: rule 1: bad", "f.toml:5: rule 2: bad", "f.toml: rule 3: bad"} {
		if got := Blame("f.toml", text, rule, errors.New("bad")).Error(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
