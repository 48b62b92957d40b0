package kernelfile

import (
	"strings"
	"testing"
)

// p8 and others are parameters by their bytes.
var (
	p4  = Param{4, 4}
	p8  = Param{8, 8}
	p16 = Param{16, 8}
)

// bindWith binds a launch of a kernel with these parameters.
func bindWith(t *testing.T, args string, params []Param) (BoundStep, error) {
	t.Helper()
	f := mustParse(t, fileHead+"args = ["+args+"]\n"+fileTail)
	m := Module{Path: "x.ptx", PTX: true, Entries: map[string][]Param{"k": params, "other": nil}}
	steps, err := f.Bind(aCall(), &Bundle{Modules: map[string]Module{"x.ptx": m}}, newMemory())
	if err != nil {
		return BoundStep{}, err
	}
	return steps[0], nil
}

func TestArgumentsFitParameters(t *testing.T) {
	for _, test := range []struct {
		args   string
		params []Param
	}{
		{"", nil},
		{`{pointer = "pad"}, {u32 = 1}, {u64 = 1}`, []Param{p8, p4, p8}},
		{`{pointers = "pad"}`, []Param{p8, p8, p8}},
		{`{struct = [{u64 = 1}, {u32 = 2}]}`, []Param{p16}},
		{`{u32 = 1}, {struct = [{u32 = 1}], align = 16}`, []Param{p4, {16, 16}}},
		{`{u32 = 1}, {bytes = "00 01", align = 2}`, []Param{p4, {2, 2}}},
		{`{u32 = 1}, {tensormap = "input", sizes = [64], box = [64]}`, []Param{p4, {128, 64}}},
		{`{u32 = 1}, {tensormap = "input", sizes = [64], box = [64], align = 128}`, []Param{p4, {128, 128}}},
		{`{u32 = 1}, {null = "rest"}`, []Param{p4, p8, p8}},
		{`{u32 = 1}, {null = "rest"}`, []Param{p4}},
		{`{u64 = 1}, {bytes = "0102030405060708"}`, []Param{p8, p8}}, // at a multiple of 8 anyway
	} {
		step, err := bindWith(t, test.args, test.params)
		if err != nil || len(step.Fields) != len(test.params) {
			t.Errorf("%s: %d fields, %v", test.args, len(step.Fields), err)
		}
	}
}

func TestArgumentsThatDoNotFit(t *testing.T) {
	for _, test := range []struct {
		args, want string
		params     []Param
	}{
		{
			`{u64 = "count"}`,
			"argument 0, u64 count, is 8 bytes at 0, and the kernel's parameter 0 has 4 bytes at 0: use u32",
			[]Param{p4},
		},
		{
			`{pointer = "pad"}, {bf16 = 1}`,
			"argument 1, bf16 1, is 2 bytes at 8, and the kernel's parameter 1 has 4 bytes at 8: use f32",
			[]Param{p8, p4},
		},
		{
			`{u32 = 1}`,
			"argument 0, u32 1, is 4 bytes at 0, and the kernel's parameter 0 has 16 bytes at 0: it is a struct by value",
			[]Param{p16},
		},
		{
			`{pointer = "pad"}`,
			"argument 0, pointer pad, is 8 bytes at 0, and the kernel's parameter 0 has 4 bytes at 0: it is no " +
				"pointer; use u32",
			[]Param{p4},
		},
		{
			`{u32 = 1}, {struct = [{u32 = 1}, {u32 = 2}]}`,
			"argument 1, struct {u32 1, u32 2}, is 8 bytes at 4, and the kernel's parameter 1 has 8 bytes at 8: " +
				"the parameter's alignment is 8, the argument's 4; structs, bytes and tensor maps take align = 8",
			[]Param{p4, p8},
		},
		{
			`{u32 = 1}, {u32 = "rank"}`,
			"the launch has 2 arguments, and kernel k has 1 parameter: argument 1, u32 rank, is too many",
			[]Param{p4},
		},
		{
			`{u32 = 1}`,
			"the launch has 1 argument, and kernel k has 3 parameters; missing: parameter 1 of 8 bytes, " +
				"parameter 2 of 16 bytes",
			[]Param{p4, p8, p16},
		},
		{
			``,
			"the launch has 0 arguments, and kernel k has 1 parameter; missing: parameter 0 of 4 bytes",
			[]Param{p4},
		},
		{
			`{u32 = 1}, {null = "rest"}`,
			"argument 1, null, is 8 bytes at 8, and the kernel's parameter 1 has 4 bytes at 4: it is no pointer; use u32",
			[]Param{p4, p4},
		},
	} {
		_, err := bindWith(t, test.args, test.params)
		if err == nil || err.Error() != "x.toml:8: "+test.want && err.Error() != "x.toml:3: "+test.want {
			t.Errorf("%s:\n     %v\nwant x.toml:8: %s", test.args, err, test.want)
		}
	}
}

func TestModulesAndKernels(t *testing.T) {
	k := map[string][]Param{"first": nil, "second_bfloat16": nil}
	bundle := &Bundle{Modules: map[string]Module{
		"a.1.ptx": {
			Path: "a.1.ptx", Entries: k,
			Matches: map[string]string{"second<__nv_bfloat16, 3>*": "second_bfloat16"},
		},
		"a.cubin": {Path: "a.cubin"},
		"one.ptx": {Path: "one.ptx", Entries: map[string][]Param{"only": nil}},
		"triton": {
			Path: "triton", Entries: map[string][]Param{"t": nil}, Triton: &Triton{128, 4096, 2},
		},
		"a.cu\nnvcc -o {output} -DN=3 {source}": {Path: "a.cu", Entries: k},
	}}
	for code, want := range map[string]string{
		"module = 'a.{rank}.ptx'\nentry = 'second_{type}'":             "a.1.ptx second_bfloat16",
		"module = 'a.{rank}.ptx'\nmatch = 'second<{ctype}, {world}>*'": "a.1.ptx second_bfloat16",
		"source = 'a.cu'\ncompile = 'nvcc -o {output} -DN={world} {source}'\nentry = 'first'": "a.cu\nnvcc " +
			"-o {output} -DN=3 {source} first",
		"module = 'one.ptx'":                "one.ptx only",
		"module = 'a.cubin'\nentry = 'any'": "a.cubin any",
		"module = 'a.{rank}.ptx'\nentry = 'secnd_{type}'": "x.toml:5: a.1.ptx has no kernel secnd_bfloat16; " +
			"did you mean second_bfloat16?",
		"module = 'a.{rank}.ptx'\nmatch = 'third*'": `x.toml:5: no kernel of a.1.ptx matches "third*"`,
		"module = 'a.{rank}.ptx'": "" +
			`x.toml:4: a.1.ptx has several kernels: write entry = "first", or second_bfloat16`,
		"module = 'a.cubin'": "x.toml:4: the kernels of a.cubin are not known: " +
			"write entry, the name of one",
		"module = 'b.ptx'\nentry = 'x'": "x.toml:4: module b.ptx has not been read",
	} {
		f := mustParse(t, "collective = 'barrier'\ngrid = 1\nblock = 32\n"+code)
		steps, err := f.Bind(aCall(), bundle, newMemory())
		got := ""
		if err != nil {
			got = err.Error()
		} else {
			got = steps[0].Module + " " + steps[0].Entry
		}
		if got != want {
			t.Errorf("%s:\n     %s\nwant %s", code, got, want)
		}
	}
	f := mustParse(t, "collective = 'barrier'\ngrid = 6\nmodule = 'triton'")
	steps, err := f.Bind(aCall(), bundle, newMemory())
	if l := steps[0].Launch; err != nil || l.Threads != 128 || l.SharedBytes != 4096 || l.Cluster != 2 {
		t.Errorf("%+v, %v", l, err)
	}
}

func TestUnknownPlaceholders(t *testing.T) {
	for code, want := range map[string]string{
		"module = 'a.{rnk}.ptx'": "unknown {rnk} in \"a.{rnk}.ptx\"; there is {rank}, " +
			"{world}, {type}, {ctype}, {op}",
		"module = 'a.{rank.ptx'":                      `"a.{rank.ptx" has a { without }`,
		"source = 'a.cu'":                             "source needs compile",
		"source = 'a.cu'\ncompile = 'nvcc'":           "compile does not say where {output} belongs",
		"module = 'a.ptx'\ncompile = 'nvcc {output}'": "compile needs source",
	} {
		_, err := Parse("x.toml", []byte("collective = 'barrier'\ngrid = 1\n"+code))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", code, err, want)
		}
	}
}
