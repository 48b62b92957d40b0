package kernelfile

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// One description in three languages. The lines are those of each.
var inLanguages = map[string]string{
	"x.toml": `collective = "allreduce"
ops = ["sum", "max"]
module = "x.ptx"
grid = ["2 * world", 3]
block = 128
args = [
  {f32 = 0.5},
  {struct = [{u8 = 1}, {pointer = "pad", offset = -8}]},
  {null = true},
]
[buffers.pad]
size = 1_024
init.u32 = 1
`,
	"x.yaml": `collective: allreduce
ops:
  - sum
  - max
module: x.ptx
grid: [2 * world, 3]
block: 128
args:
  - f32: 0.5
  - struct:
      - {u8: 1}
      - {pointer: pad, offset: -8}
  - {null: true}
buffers:
  pad:
    size: 1024
    init: {u32: 1}
`,
	"x.json": `{
	"collective": "allreduce", "ops": ["sum", "max"],
	"module": "x.ptx", "grid": ["2 * world", 3], "block": 128,
	"args": [
		{"f32": 0.5},
		{"struct": [{"u8": 1}, {"pointer": "pad", "offset": -8}]},
		{"null": true}
	],
	"buffers": {
		"pad": {"size": 1024, "init": {"u32": 1}}
	}
}
`,
}

func TestLanguagesSayTheSame(t *testing.T) {
	files := map[string]*File{}
	for path, text := range inLanguages {
		f, err := Parse(path, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		files[path] = f
	}
	for _, path := range []string{"x.yaml", "x.json"} {
		if d := cmp.Diff(files["x.toml"], files[path], sameFile); d != "" {
			t.Errorf("%s: %s", path, d)
		}
	}
	for path, want := range map[string][3]int{"x.toml": {7, 8, 11}, "x.yaml": {9, 10, 16}, "x.json": {5, 6, 10}} {
		f := files[path]
		args := f.Steps[0].Launch.Args
		if got := [3]int{args[0].Line, args[1].Line, f.Buffers[0].Line}; got != want {
			t.Errorf("%s: lines %v, want %v", path, got, want)
		}
	}
}

// An error has the line of the value, in each language.
func TestLinesOfErrors(t *testing.T) {
	for path, line := range map[string]string{"x.toml": "8", "x.yaml": "12", "x.json": "6"} {
		text := strings.Replace(inLanguages[path], "-8", `"i"`, 1)
		want := path + ":" + line + `: offset: i in "i" is not known here`
		checkError(t, path, text, want)
	}
}

func TestErrorsOfLanguages(t *testing.T) {
	for _, test := range []struct{ path, text, want string }{
		{"x.txt", "", "x.txt: the name of a kernel file ends in .toml, .yaml, .yml or .json"},
		{"x.toml", "a = 1\nb = \"", `x.toml:2: basic string not terminated by "`},
		{"x.toml", "a = 1\n[a]\nb = 1", `x.toml:2: "a" is not a table`},
		{"x.toml", "[a]\n[a]", `x.toml:2: [a] is defined twice`},
		{"x.toml", "a = 99999999999999999999", `x.toml:1: 99999999999999999999 is not a whole number of 64 bits`},
		{"x.toml", "[[a]]\n[a]\n[[a.b]]\n[[a]]\na = 1e999", `x.toml:5: 1e999 is not a number of 64 bits`},
		{"x.yaml", "a: [1\nb: 2", `x.yaml:1: did not find expected ',' or ']'`},
		{"x.yaml", "a: 1\na: 2", `x.yaml:2: "a" is defined twice`},
		{"x.yaml", "a: &x 1\nb: *x", `x.yaml:2: aliases have no meaning in a kernel file: write the value again`},
		{"x.yaml", "? [1]\n: 2", `x.yaml:1: a key is a plain text`},
		{"x.yaml", "a: 1\n---\nb: 1", `x.yaml:2: a kernel file is one document`},
		{"x.yaml", "'a' 'b'", "x.yaml: did not find expected <document start>"},
		{"x.yaml", "- 1", `x.yaml:1: a kernel file is a table of keys and values`},
		{"x.yaml", "a: !!binary x", `x.yaml:1: a value !!binary has no meaning in a kernel file`},
		{"x.yaml", "a: 2000-01-01", `x.yaml:1: a value !!timestamp has no meaning in a kernel file`},
		{"x.yml", strings.Repeat("- ", 100), `x.yml:1: tables and lists are nested more than 16 deep`},
		{"x.json", "{\n\"a\": 1,\n\"a\": 2}", `x.json:3: "a" is defined twice`},
		{"x.json", "{\"a\":\n1", `x.json:2: the file ends in the middle of a value`},
		{"x.json", "{} 1", `x.json:1: there is more behind the table`},
		{"x.json", "[]", `x.json:1: a kernel file is a table of keys and values`},
		{"x.json", "{\"a\": x}", `x.json:1: invalid character 'x' looking for beginning of value`},
		{"x.json", "{\"a\": 1e999}", `x.json:1: 1e999 is not a number of 64 bits`},
		{"x.json", strings.Repeat("[", 100), `x.json:1: tables and lists are nested more than 16 deep`},
		{"x.json", "[" + strings.Repeat("1,", 30000) + "1]", `x.json:1: the file has more than 20000 values`},
	} {
		checkError(t, test.path, test.text, test.want)
	}
}
