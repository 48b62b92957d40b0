package kernelfile

import (
	"slices"
	"strings"
	"testing"
)

func TestAccepts(t *testing.T) {
	f := mustParse(t, strings.Replace(fileHead, `op = "sum"`, `ops = ["sum", "max"]`, 1)+
		"types = ['half', 'float']\nworld = [2, 4, 8]\n[contract]\ncount_multiple = '8 * world'\n"+
		"alignment = 'size * 8'\nmax_bytes = '8K'\nin_place = 'no'\n")
	good := Call{World: 4, Type: "half", Op: "max", ElementBytes: 2, Count: 64}
	if err := f.Accepts(good); err != nil {
		t.Error(err)
	}
	if r, err := f.Requirements(good); err != nil || r != (Requirements{32, 16, 8192}) {
		t.Errorf("%+v, %v", r, err)
	}
	for want, change := range map[string]func(*Call){
		`x.toml: x is for 2, 4 or 8 ranks, not 3`:                           func(c *Call) { c.World = 3 },
		`x.toml: x is for elements of type half or float, not double`:       func(c *Call) { c.Type = "double" },
		`x.toml: x computes sum or max, not min`:                            func(c *Call) { c.Op = "min" },
		`x.toml:11: x takes counts that are multiples of 32, not 33`:        func(c *Call) { c.Count = 33 },
		`x.toml:13: x takes parts of up to 8192 bytes, not 8256`:            func(c *Call) { c.Count = 4128 },
		`x.toml: x does not run in place: its contract has in_place = "no"`: func(c *Call) { c.InPlace = true },
	} {
		c := good
		change(&c)
		if err := f.Accepts(c); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	only := mustParse(t, fileHead+"[contract]\nin_place = 'only'\nmax_bytes = 'world - 2'")
	good.Op = "sum"
	if err := only.Accepts(good); err == nil || !strings.Contains(err.Error(), "only in place") {
		t.Error(err)
	}
	good.InPlace, good.World = true, 2
	if err := only.Accepts(good); err == nil || !strings.Contains(err.Error(), `"world - 2" is 0, and a number`) {
		t.Error(err)
	}
}

func TestDependsOnCall(t *testing.T) {
	for text, want := range map[string]bool{
		`args = [{u32 = "call"}]`:                                         false,
		`args = [{struct = [{u32 = "call"}]}]`:                            false,
		`args = [{structs = [{u32 = "call"}]}]`:                           true,
		`args = [{struct = [{structs = [{u32 = "call"}]}]}]`:              true,
		`args = [{pointer = "pad", offset = "call % 2"}]`:                 true,
		`args = [{table = "pad", rank = "(call + i) % world"}]`:           true,
		`args = [{tensormap = "input", sizes = ["call + 1"], box = [8]}]`: true,
		`shared = "call % 2"`:                                             true,
		`when = "call % 2 == 0"`:                                          true,
		`resident = "1 + call % 2"`:                                       true,
		`shared = 4`:                                                      false,
		`cluster = "1 + call % 2"`:                                        true,
	} {
		f := mustParse(t, fileHead+text+fileTail+"[buffers.b]\nsize = 1\n")
		if got := f.DependsOnCall(); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

func TestRotationDependsOnCall(t *testing.T) {
	for text, want := range map[string]bool{"rotate = 2": true, "rotate = 1": false} {
		if got := mustParse(t, fileHead+"[buffers.b]\nsize = 1\n"+text).DependsOnCall(); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

func TestReferenceDependsOnCall(t *testing.T) {
	const text = "collective = 'custom'\nmodule = 'x.ptx'\ngrid = 1\nblock = 1\n[buffers.y]\nrole = 'output'\n" +
		"type = 'u32'\nsize = 4\n[reference]\nblock = 1\n"
	for keys, want := range map[string]bool{
		"grid = 1":              false,
		"grid = '1 + call % 2'": true,
		"grid = 1\nargs = [{pointer = 'y'}, {u32 = 'count'}]":           false,
		"grid = 1\nargs = [{pointer = 'y'}, {u32 = 'call'}]":            true,
		"grid = 1\nargs = [{struct = [{u32 = '2 * call'}]}]":            true,
		"grid = 1\nargs = [{pointer = 'y', offset = '-call'}]":          true,
		"grid = 1\nargs = [{u32 = 'twice'}]\n[let]\ntwice = '2 * call'": true,
	} {
		f := mustParse(t, text+keys)
		if got := f.ReferenceDependsOnCall(); got != want {
			t.Errorf("%s: %t", keys, got)
		}
		if f.DependsOnCall() || f.HasPatches() {
			t.Errorf("%s: the steps depend on the call", keys)
		}
	}
}

func TestElementTypes(t *testing.T) {
	if got := mustParse(t, fileHead).ElementTypes(); len(got) != len(typeNames()) {
		t.Errorf("without types: %v", got)
	}
	if got := mustParse(t, fileHead+"type = 'bf16'").ElementTypes(); !slices.Equal(got, []string{"bfloat16"}) {
		t.Error(got)
	}
}

func TestPatches(t *testing.T) {
	step, _, err := bindArgs(t, `{u8 = 1}, {u32 = "call + 1"},`+
		` {struct = [{u64 = 0}, {struct = [{u16 = 7}, {u16 = "call % 5"}]}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if len(step.Patches) != 2 || step.Patches[0].At != 4 || step.Patches[1].At != 18 {
		t.Fatalf("%+v", step.Patches)
	}
	for number, want := range map[int64]string{7: "800000001 0 20007", 9: "a00000001 0 40007", 10: "b00000001 0 7"} {
		for i := range step.Patches {
			if err := step.Patches[i].Write(step.Params, number); err != nil {
				t.Fatal(err)
			}
		}
		if got := words(step.Params); got != want {
			t.Errorf("call %d: %s, want %s", number, got, want)
		}
	}
	p := &step.Patches[0]
	if n := testing.AllocsPerRun(100, func() { _ = p.Write(step.Params, 12) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if err := p.Write(step.Params, 1<<32); err == nil || !strings.Contains(err.Error(), "which u32 cannot hold") {
		t.Error(err)
	}
}

// Numbers that use the same name of [let] are written apart, each for its own call.
func TestPatchesOfNames(t *testing.T) {
	f := mustParse(t, fileHead+"args = [{u32 = 'next'}, {u32 = 'next + next'}]\n[let]\nnext = 'call + 1'\n")
	bound, err := f.Bind(aCall(), nil, newMemory())
	if err != nil {
		t.Fatal(err)
	}
	step := bound[0]
	for i, number := range []int64{8, 4} {
		p := &step.Patches[i]
		if n := testing.AllocsPerRun(100, func() { err = p.Write(step.Params, number) }); n != 0 || err != nil {
			t.Errorf("%v allocations, %v", n, err)
		}
	}
	if got := words(step.Params); got != "a00000009" {
		t.Errorf("got %s", got)
	}
}

func TestPaths(t *testing.T) {
	const text = `collective = 'custom'
[[steps]]
module = 'a.{rank}.ptx'
grid = 1
[[steps]]
source = '../b.cu'
compile = 'cc {output}'
grid = 1
[[steps]]
module = '/c/d.ptx'
grid = 1
[[steps]]
module = 'a.{rank}.ptx'
grid = 1
[buffers.o]
role = 'output'
type = 'f32'
size = 4
expect_file = 'x/../../o.{world}.npy'
init_file = 'x/../in.npy'
[reference]
module = 'ref.ptx'
grid = 1
`
	f, err := Parse("folder/x.toml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := []PathUse{
		{"a.1.ptx", "folder/a.1.ptx", 3, false},
		{"../b.cu", "b.cu", 6, true},
		{"/c/d.ptx", "/c/d.ptx", 10, true},
		{"ref.ptx", "folder/ref.ptx", 22, false},
		{"x/../in.npy", "folder/in.npy", 20, false},
		{"x/../../o.3.npy", "o.3.npy", 19, true},
	}
	if got := f.Paths(aCall()); !slices.Equal(got, want) {
		t.Errorf("%+v", got)
	}
}

func TestSizesAndGlobals(t *testing.T) {
	f := mustParse(t, fileHead+fileTail+"[buffers.output]\nalign = 16\n[buffers.b]\nsize = '2 * bytes + sms'\n[globals]\n"+
		"scale = {f32 = 'rank / 2'}\npeers = {pointers = 'pad'}\ntable = {table = 'input'}\n")
	sizes, err := f.Sizes(aCall())
	if want := []int64{192, 100, 2002, 4136}; err != nil || !slices.Equal(sizes, want) {
		t.Errorf("%v, %v", sizes, err)
	}
	globals, err := f.BindGlobals(aCall(), newMemory())
	if err != nil || len(globals) != 3 {
		t.Fatal(globals, err)
	}
	for i, want := range []string{"0000003f", "0:pad+0 1:pad+0 2:pad+0", "table0"} {
		if got := words(globals[i].Bytes); got != want {
			t.Errorf("%s: %s, want %s", globals[i].Global.Name, got, want)
		}
	}
	f = mustParse(t, fileHead+"[buffers.b]\nsize = 'world - 4'\n")
	if _, err := f.Sizes(aCall()); err == nil || !strings.Contains(err.Error(), "the size of a buffer is 0 to") {
		t.Error(err)
	}
}

// A file takes a number of blocks if a grid depends on it, also by a name of let.
func TestTakesBlocks(t *testing.T) {
	const head = "collective = \"barrier\"\nmodule = \"m.ptx\"\nentry = \"k\"\nblock = 32\n"
	for text, want := range map[string]bool{
		"grid = 4":                  false,
		"grid = \"max(blocks, 1)\"": true,
		"grid = [1, \"g\"]\n[let]\ng = \"blocks\"": true,
		"grid = 4\n[let]\ng = \"blocks\"":          false,
	} {
		if got := mustParse(t, head+text).TakesBlocks(); got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// State is written once: calls of another type or operation must not want another one.
func TestInitialValuesDifferByType(t *testing.T) {
	float, half := Call{Type: "float", Op: "sum"}, Call{Type: "half", Op: "sum"}
	largest := float
	largest.Op = "max"
	for init, want := range map[string][2]bool{ // for half, and for max
		`0`: {}, `{u32 = "world"}`: {}, `{u32 = "size"}`: {true, false}, `{u32 = "op == \"max\" ? 1 : 0"}`: {false, true},
		`{u32 = "type == \"float\" ? 1 : 0"}`: {true, false},
	} {
		f := mustParse(t, fileHead+fileTail+"[buffers.b]\nsize = 4\ninit = "+init+"\n")
		for i, other := range []Call{half, largest} {
			if err := f.CheckInit(float, other); (err != nil) != want[i] {
				t.Errorf("%s: %v, %s %s", init, err, other.Type, other.Op)
			}
		}
		if err := f.CheckInit(float, float); err != nil {
			t.Errorf("equal calls: %v", err)
		}
	}
}
