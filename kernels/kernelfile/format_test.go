package kernelfile

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// sameFile compares files without their lines and comments.
var sameFile = cmp.Options{
	cmpopts.IgnoreFields(File{}, "Path"),
	cmpopts.IgnoreFields(Arg{}, "Comment"),
	cmp.Comparer(func(a, b Expr) bool { return a.Text == b.Text && a.kind == b.kind && a.names == b.names }),
	cmp.Comparer(func(a, b Text) bool { return a.Text == b.Text }),
	cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Line" }, cmp.Ignore()),
}

func exampleFiles(t testing.TB) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"testdata/*.toml", "testdata/*.yaml", "testdata/own/*.toml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all[path] = string(text)
		}
	}
	if len(all) < 7 {
		t.Fatalf("%d files", len(all))
	}
	return all
}

func TestFormatWritesWhatParseReads(t *testing.T) {
	for path, text := range exampleFiles(t) {
		f, err := Parse(path, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		again, err := Parse(strings.TrimSuffix(path, filepath.Ext(path))+".toml", f.Format())
		if err != nil {
			t.Fatalf("%v in\n%s", err, f.Format())
		}
		if d := cmp.Diff(f, again, sameFile); d != "" {
			t.Errorf("%s: %s in\n%s", path, d, f.Format())
		}
		if again, first := string(again.Format()), string(f.Format()); again != first {
			t.Errorf("%s changes when it is written again: %s", path, cmp.Diff(first, again))
		}
	}
}

// A draft that is made in Go, with comments.
func TestFormatOfADraft(t *testing.T) {
	f := &File{
		Path: "mine.toml", Name: "mine", Collective: "allreduce", Ops: []string{"sum"}, Types: []string{"float"},
		Steps: []Step{{Launch: &Launch{
			Code: Code{Module: Text{Text: "mine.ptx"}, Entry: Text{Text: "k"}},
			Grid: []Expr{{Text: "min(24, ceil(count / 8192))"}}, Block: []Expr{{Text: "512"}},
			Args: []Arg{
				{Kind: Pointer, Buffer: Text{Text: "input"}, Comment: "parameter 0: 8 bytes"},
				{Kind: Number, Type: "u32", Value: Expr{Text: "count"}, Comment: "parameter 1:\n4 bytes"},
				{Kind: Null},
				{Kind: Null},
				{Kind: Null, Comment: "by version"},
				{Kind: Struct, Members: []Arg{{Kind: Pointers, Buffer: Text{Text: "pad"}, Comment: "of each rank"}}, Align: 16},
			},
		}}},
		Buffers: []Buffer{{Name: "pad", Size: Expr{Text: "4 * world"}, Init: &Init{"u8", Expr{Text: "0"}}}},
	}
	const want = `collective = "allreduce"
op = "sum"
type = "float"
module = "mine.ptx"
entry = "k"
grid = "min(24, ceil(count / 8192))"
block = 512
args = [
  {pointer = "input"}, # parameter 0: 8 bytes
  {u32 = "count"}, # parameter 1: 4 bytes
  {null = 2},
  {null = true}, # by version
  {struct = [
    {pointers = "pad"}, # of each rank
  ], align = 16},
]

[buffers.pad]
size = "4 * world"
init = {u8 = 0}
`
	if d := cmp.Diff(want, string(f.Format())); d != "" {
		t.Error(d)
	}
	if _, err := Parse("mine.toml", f.Format()); err != nil {
		t.Error(err)
	}
	if _, err := f.Bind(Call{World: 1}, nil, newMemory()); err == nil || !strings.Contains(err.Error(), "Parse") {
		t.Errorf("binding what Parse has not checked: %v", err)
	}
}

func TestQuoted(t *testing.T) {
	for text, want := range map[string]string{
		"a": `"a"`, `a"b`: `'a"b'`, `a\b`: `'a\b'`, `'"`: `"'\""`, "\n\\": `"\u000A\\"`, "ä'": `"ä'"`,
	} {
		if got := quoted(text); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
	for text, want := range map[string]bool{
		"0": true, "-12": true, "01": false, "1.5": true, "-0.25": true, "1.": false, ".5": false, "1e5": false, "true": true,
		"count": false, "9223372036854775808": false, "": false, "-": false, "1_0": false, "00.5": false,
	} {
		if got := isLiteral(text); got != want {
			t.Errorf("%q: %t", text, got)
		}
	}
}
