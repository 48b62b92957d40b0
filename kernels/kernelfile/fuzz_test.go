package kernelfile

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// FuzzParse: no text makes the package panic or take long. What Parse accepts, Format writes so that Parse reads the
// same, and Bind answers.
func FuzzParse(f *testing.F) {
	for path, text := range exampleFiles(f) {
		f.Add(path[strings.LastIndexByte(path, '.'):], text)
	}
	for path, text := range inLanguages {
		f.Add(strings.TrimPrefix(path, "x"), text)
	}
	for text := range goldenErrors(f, "testdata/errors.txt") {
		f.Add(".toml", strings.Replace(text, "HEAD\n", fileHead, 1))
	}
	f.Fuzz(func(t *testing.T, extension, text string) {
		start := time.Now()
		file, err := Parse("x"+extension, []byte(text))
		if err != nil {
			var placed *Error
			if !errors.As(err, &placed) || placed.Path != "x"+extension || strings.Contains(placed.Message, "runtime error") {
				t.Fatalf("%v", err)
			}
			return
		}
		again, err := Parse("x.toml", file.Format())
		if err != nil {
			t.Fatalf("%v in\n%s", err, file.Format())
		}
		if first, second := string(file.Format()), string(again.Format()); first != second {
			t.Fatalf("%s\nis written again as\n%s", first, second)
		}
		for _, call := range []Call{aCall(), {World: 1, Type: "float", Op: "none", ElementBytes: 4}} {
			m := newMemory()
			for _, b := range file.Buffers {
				m.buffers = append(m.buffers, b.Name)
			}
			_ = file.Accepts(call)
			_, _ = file.Sizes(call)
			_, _ = file.Bind(call, nil, m)
			_, _ = file.BindGlobals(call, m)
			_ = file.Paths(call)
		}
		if d := time.Since(start); d > 5*time.Second {
			t.Fatalf("it took %v", d)
		}
	})
}

// FuzzExpr: no text makes the evaluation panic, and a result is a number that its parts describe.
func FuzzExpr(f *testing.F) {
	for text := range goldenErrors(f, "testdata/errors_of_expressions.txt") {
		f.Add(text)
	}
	for _, text := range []string{
		"min(24, ceil(count / 8192))", "offset('input', 'pad')", "length(\"pad\") - 1", "type == 'half' ? 1 : 2.5", "8M",
		"2**63 - 1 + 2**63", "1 < 2 < 3 ? twice : -1",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := evaluate(text)
		switch {
		case err != nil && strings.Contains(err.Error(), "runtime error"):
			t.Fatal(err)
		case err == nil && v.kind == exact && (v.den == 0 || divisor(v.num, v.den) > 1):
			t.Fatalf("%q is %+v", text, v)
		}
		for _, number := range numberTypes {
			if err == nil && v.kind <= real {
				_ = encode(make([]byte, 8), number.name, v)
			}
		}
	})
}
