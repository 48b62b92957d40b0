package kernelfile

import (
	"os"
	"strings"
	"testing"
)

// testdata/errors.txt has files, each with its error: line and sentence. HEAD stands for fileHead, so that line 8 is
// the first behind it.
func TestErrorsOfFiles(t *testing.T) {
	golden, err := os.ReadFile("testdata/errors.txt")
	if err != nil {
		t.Fatal(err)
	}
	cases := strings.Split(string(golden), "\n\n")
	if len(cases) < 30 {
		t.Fatalf("%d cases", len(cases))
	}
	for _, c := range cases {
		text, want, found := strings.Cut(c, "\n=> ")
		if !found {
			t.Fatalf("no error in %q", c)
		}
		text = strings.Replace(text, "HEAD\n", fileHead, 1)
		checkError(t, "x.toml", text, "x.toml:"+strings.TrimSpace(want))
	}
}

func TestFilesThatAreTooLarge(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{strings.Repeat("x", maxFileBytes+1), `x.toml: a kernel file has at most 128 KB: is it the right file?`},
		{"a = " + strings.Repeat("[", 20) + strings.Repeat("]", 20), `x.toml:1: tables and lists are nested more than 16 deep`},
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

func TestErrorsOfArguments(t *testing.T) {
	for _, test := range []struct{ arg, want string }{
		{`{}`, `an argument is one of bytes, multicast, null, pointer, pointers, struct, structs, table, tensormap, i8, i16, i32, ` +
			`i64, u8, u16, u32, u64, f16, bf16, f32, f64`},
		{`{poniter = "input"}`, `unknown key "poniter" of an argument; did you mean pointer?`},
		{`"input"`, `each of args is a table, not a text`},
		{`{pointer = "input", u32 = 1}`, `pointer and u32: an argument is one of them`},
		{`{pointer = "input", ofset = 1}`, `unknown key "ofset" of an argument pointer; did you mean offset?`},
		{`{pointer = "input", pad = 1}`, `unknown key "pad" of an argument pointer; there is pointer, rank, offset`},
		{`{pointer = "inptu"}`, `pointer: there is no buffer "inptu"; did you mean input?`},
		{`{table = "pad", pad = 2000}`, `pad is 2000, and must be 1 to 1024`},
		{`{table = "pad", pad = "world"}`, `pad is a whole number, not a text`},
		{`{u32 = ""}`, `u32: the expression is empty`},
		{`{u32 = "i"}`, `u32: i in "i" is not known here`},
		{`{u32 = "in_place"}`, `u32: "in_place" is true or false, where a number belongs`},
		{`{u32 = [1]}`, `u32 is an expression, not a list`},
		{`{bytes = "0"}`, `bytes are pairs of hexadecimal digits, such as "00 01 ff": encoding/hex: odd length hex string`},
		{`{bytes = "00", align = 3}`, `align is 3, and must be a power of two`},
		{`{null = false}`, `null is true, a number of null pointers, or "rest"`},
		{`{null = "rest"}, {u32 = 1}`, `null = "rest" is only for the last argument of a kernel`},
		{`{struct = [{null = "rest"}]}`, `null = "rest" is only for the last argument of a kernel`},
		{`{struct = []}`, `a struct has at least one member`},
		{`{tensormap = "input"}`, `a tensor map has sizes, the elements of each dimension, the innermost first`},
		{`{tensormap = "input", sizes = [1, 2], box = [1]}`, `a tensor map of 2 dimensions has a box of as many, not 1`},
		{`{tensormap = "input", type = "f31", sizes = [1], box = [1]}`, `unknown type "f31" of a tensor map; did you mean f32?`},
	} {
		checkError(t, "x.toml", fileHead+"args = ["+test.arg+"]\n"+fileTail, "x.toml:8: "+test.want)
	}
}

func TestErrorsOfCalls(t *testing.T) {
	for _, test := range []struct{ arg, want string }{
		{`{u8 = "count"}`, `for rank 1 of 3, "count" is 1001, which u8 cannot hold`},
		{`{u32 = "-1"}`, `for rank 1 of 3, "-1" is -1, which u32 cannot hold`},
		{`{i8 = -129}`, `for rank 1 of 3, "-129" is -129, which i8 cannot hold`},
		{`{u32 = "count / 2"}`, `for rank 1 of 3, "count / 2" is 1001/2, which is not a whole number: write ceil(...) or floor(...)`},
		{`{u32 = "count / (rank - 1)"}`, `for rank 1 of 3, "count / (rank - 1)" divides by zero`},
		{`{u64 = "2**63 * count"}`, `for rank 1 of 3, "2**63 * count" has a result beyond 64 bits`},
		{`{pointer = "pad", rank = "rank + 2"}`, `for rank 1 of 3, "rank + 2" is 3, and a rank is 0 to 2`},
		{`{pointers = "own"}`, `rank 1 has no address of rank 0's buffer own, which is private: leave out private and host, ` +
			`or take this rank's own by pointer`},
		{`{table = "pad", pad = 2}`, `pad is 2, and there are 3 ranks`},
		{`{multicast = "input"}`, `multicast address of buffer input: the devices have no multicast`},
		{`{null = "rest"}`, `the parameters of the kernel are not known: write null = 2, or how many there are, for "rest"`},
		{`{tensormap = "input", sizes = [100, 100], box = [100, 1]}`, `tensor map of buffer input: a stride of 200 bytes in ` +
			`dimension 1 is no multiple of 16 below 2^40; pad the rows`},
		{
			`{bytes = "` + strings.Repeat("00", maxRawBytes) + `"}, {bytes = "` + strings.Repeat("00", maxRawBytes) + `"}`,
			`the arguments have more than 32764 bytes, the most that a kernel takes`,
		},
	} {
		_, _, err := bindArgs(t, test.arg)
		if err == nil || err.Error() != "x.toml:8: "+test.want {
			t.Errorf("%.100s\n     %v\nwant x.toml:8: %s", test.arg, err, test.want)
		}
	}
}
