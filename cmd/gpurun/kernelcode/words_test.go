package kernelcode

import (
	"slices"
	"strings"
	"testing"
)

func TestSplitWords(t *testing.T) {
	for _, c := range []struct {
		command string
		want    []string
		err     string
	}{
		{"nvcc -ptx  -o {output}\t{source}", []string{"nvcc", "-ptx", "-o", "{output}", "{source}"}, ""},
		{`clang -D'A=b c' "-DX=\"y\"" a\ b ''`, []string{"clang", "-DA=b c", `-DX="y"`, "a b", ""}, ""},
		{`a 'x|y' "$z"`, []string{"a", "x|y", "$z"}, ""},
		{`a '\'`, []string{"a", `\`}, ""},
		{"a | b", nil, "is for a shell"},
		{"a $(b)", nil, "is for a shell"},
		{"a > b", nil, "is for a shell"},
		{"a 'b", nil, "not closed"},
		{" ", nil, "empty"},
	} {
		got, err := splitWords(c.command)
		switch {
		case c.err == "" && (err != nil || !slices.Equal(got, c.want)):
			t.Errorf("%q: %q, %v; want %q", c.command, got, err, c.want)
		case c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%q: error %v, want %q", c.command, err, c.err)
		}
	}
}

// What is shown can be given to a shell: it splits into the same words.
func TestShownWords(t *testing.T) {
	words := []string{"a", "b c", "d'e", "", "$x", "-D=1"}
	if got, want := shown(words), `a 'b c' 'd'\''e' '' '$x' -D=1`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, err := splitWords(shown(words)); err != nil || !slices.Equal(got, words) {
		t.Errorf("%q, %v", got, err)
	}
}

func FuzzSplitWords(f *testing.F) {
	f.Add(`clang -D'A=b c' "x\"" a\ b`)
	f.Fuzz(func(t *testing.T, command string) {
		words, err := splitWords(command)
		if err != nil {
			return
		}
		if again, err := splitWords(shown(words)); err != nil || !slices.Equal(again, words) {
			t.Errorf("%q is %q, and shown %q, %v", command, words, again, err)
		}
	})
}
