package kernelfile

import (
	"os"
	"strings"
	"testing"
)

// testdata/errors.txt has files, each with its error: line and sentence. HEAD stands for fileHead, so that line 8 is
// the first behind it.
func TestErrorsOfFiles(t *testing.T) {
	for text, want := range goldenErrors(t, "testdata/errors.txt") {
		text = strings.Replace(text, "HEAD\n", fileHead, 1)
		checkError(t, "x.toml", text, "x.toml:"+want)
	}
}

// goldenErrors reads texts with their errors, which follow =>. An empty line separates them.
func goldenErrors(t testing.TB, path string) map[string]string {
	golden, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, c := range strings.Split(string(golden), "\n\n") {
		text, want, found := strings.Cut(c, "\n=> ")
		if _, twice := all[text]; twice || !found {
			t.Fatalf("%s: %q has no error, or is there twice", path, c)
		}
		all[text] = strings.TrimSpace(want)
	}
	return all
}

func TestFilesThatAreTooLarge(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{strings.Repeat("x", maxFileBytes+1), `x.toml: a kernel file has at most 128 KB: is it the right file?`},
		{
			"a = " + strings.Repeat("{a=", 20) + "1" + strings.Repeat("}", 20),
			`x.toml:1: tables and lists are nested more than 16 deep`,
		},
		{"a = " + strings.Repeat("[", 100), `x.toml:1: brackets are nested too deep`},
		{"a" + strings.Repeat(".a", 20) + " = 1", `x.toml:1: a key has more than 16 parts`},
	} {
		checkError(t, "x.toml", test.text, test.want)
	}
}

func checkError(t *testing.T, path, text, want string) {
	t.Helper()
	_, err := Parse(path, []byte(text))
	got := "no error"
	if err != nil {
		got = err.Error()
	}
	if got != want {
		t.Errorf("%.200s\n     %s\nwant %s", text, got, want)
	}
}

// The same for one argument, in line 8.
func TestErrorsOfArguments(t *testing.T) {
	for argument, want := range goldenErrors(t, "testdata/errors_of_arguments.txt") {
		checkError(t, "x.toml", fileHead+"args = ["+argument+"]\n"+fileTail, "x.toml:8: "+want)
	}
}

// The same for an argument that is wrong in a call.
func TestErrorsOfCalls(t *testing.T) {
	all := goldenErrors(t, "testdata/errors_of_calls.txt")
	large := `{bytes = "` + strings.Repeat("00", maxRawBytes) + `"}`
	all[large+", "+large] = `the arguments have more than 32764 bytes, the most that a kernel takes`
	for argument, want := range all {
		_, _, err := bindArgs(t, argument)
		if err == nil || err.Error() != "x.toml:8: "+want {
			t.Errorf("%.100s\n     %v\nwant x.toml:8: %s", argument, err, want)
		}
	}
}
