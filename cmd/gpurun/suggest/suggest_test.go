package suggest

import (
	"testing"

	"pgregory.net/rapid"
)

func TestNearest(t *testing.T) {
	words := []string{"allreduce", "all-reduce", "list", "version", "completion", "float", "bfloat16"}
	for word, want := range map[string]string{
		"allredcue": "allreduce", "ALLREDUCE": "allreduce", "lst": "list", "versoin": "version",
		"flaot": "float", "bf16": "", "bloat16": "bfloat16", "comp": "completion", "": "", "zzzzzzzzz": "", "x": "",
	} {
		if got := Nearest(word, words); got != want {
			t.Errorf("nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestEditDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0},
		{"a", "", 1},
		{"abc", "abc", 0},
		{"abc", "abd", 1},
		{"abc", "acb", 1},
		{"kitten", "sitting", 3},
		{"sum", "summ", 1},
		{"ca", "abc", 3},
	} {
		if got := editDistance(c.a, c.b); got != c.want {
			t.Errorf("editDistance(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestEditDistanceIsSymmetricAndBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		word := rapid.StringOfN(rapid.RuneFrom([]rune("abc")), 0, 8, -1)
		a, b := word.Draw(t, "a"), word.Draw(t, "b")
		d := editDistance(a, b)
		if d != editDistance(b, a) {
			t.Fatalf("%d one way, %d the other", d, editDistance(b, a))
		}
		if d > max(len(a), len(b)) || (d == 0) != (a == b) {
			t.Fatalf("distance of %q and %q is %d", a, b, d)
		}
	})
}

func TestTypo(t *testing.T) {
	words := []string{"k", "op", "iters", "minbytes", "maxbytes"}
	for word, want := range map[string]string{
		"minbyte": "minbytes", "mimbites": "minbytes", "mimbitez": "", "manbytes": "minbytes", "itres": "iters",
		"iter": "iters",
		"o":    "", "ops": "", "j": "", "": "", "k": "",
	} {
		if got := Typo(word, words); got != want {
			t.Errorf("Typo(%q) = %q, want %q", word, got, want)
		}
	}
}
