package kernelfile

import (
	"fmt"
	"strings"
	"testing"

	"gpurun/cudart"
)

// bindSteps binds a file of steps, and writes them as lines.
func bindSteps(t *testing.T, text string, call Call) (string, error) {
	t.Helper()
	f := mustParse(t, "collective = \"allreduce\"\nop = \"sum\"\nmodule = \"x.ptx\"\n"+fileTail+text)
	steps, err := f.Bind(call, nil, newMemory())
	if err != nil {
		return "", err
	}
	var lines []string
	for _, s := range steps {
		switch {
		case s.Step.Fill != nil:
			lines = append(lines, fmt.Sprintf("fill %s %d %d", nameAddress(uint64(s.To)), s.Value, s.Bytes))
		case s.Step.Copy != nil:
			lines = append(lines, fmt.Sprintf("copy %s %s %d", nameAddress(uint64(s.From)), nameAddress(uint64(s.To)), s.Bytes))
		case s.Step.Barrier:
			lines = append(lines, "barrier")
		default:
			lines = append(lines, fmt.Sprintf("%s %s %s", s.Module, s.Entry, words(s.Params)))
		}
	}
	return strings.Join(lines, "\n"), nil
}

func TestSteps(t *testing.T) {
	for text, want := range map[string]string{
		"fill = 'own'": "fill 1:own+0 0 100",
		"fill = 'pad'\nvalue = 255\noffset = 2\nbytes = 'rank'": "fill 1:pad+2 255 1",
		"copy = 'input'\nto = 'output'":                         "copy 1:input+0 1:output+0 2002",
		"copy = 'pad'\nto = 'own'\nfrom_rank = 2" +
			"\nfrom_offset = 8\nto_offset = 4\nbytes = 16": "copy 2:pad+8 1:own+4 16",
		"copy = 'own'\nto = 'pad'\nto_rank = 0\nbytes = 1":             "copy 1:own+0 0:pad+0 1",
		"barrier = true\n[[steps]]\nbarrier = true\nwhen = 'rank > 1'": "barrier",
		`entry = "a"
grid = 1
block = 1
args = [{u64 = "call"}]
[[steps]]
when = "count > 1"
entry = "b"
grid = 2
block = 64
module = "y.{rank}.ptx"
args = [{u64 = "grid * block"}]`: "x.ptx a 7\ny.1.ptx b 80",
	} {
		got, err := bindSteps(t, "[[steps]]\n"+text, aCall())
		if err != nil || got != want {
			t.Errorf("%s\n%s, %v; want %s", text, got, err, want)
		}
	}
}

func TestErrorsOfSteps(t *testing.T) {
	for text, want := range map[string]string{
		"fill = 'own'\nvalue = 256":                   `"256" is 256, and a byte is 0 to 255`,
		"fill = 'own'\noffset = 101":                  `"101" is 101, and an offset within buffer own is 0 to 100`,
		"fill = 'own'\noffset = 90\nbytes = 11":       `"11" is 11, and a number of bytes within the buffer is 0 to 10`,
		"copy = 'input'\nto = 'own'":                  "copy of 2002 bytes to own, which has 100 from there on",
		"copy = 'pad'\nto = 'own'\nbytes = 101":       `"101" is 101, and a number of bytes within both buffers is 0 to 100`,
		"copy = 'own'\nto = 'pad'\nfrom_rank = 0":     "rank 1 has no address of rank 0's buffer own",
		"copy = 'pad'\nto = 'own'\nfrom_rank = 3":     `"3" is 3, and a rank is 0 to 2`,
		"when = '1 / (rank - 1) > 0'\nbarrier = true": "divides by zero",
		"entry = 'k'\ngrid = 'rank - 1'\nblock = 1":   `"rank - 1" is 0, and grid in dimension x is 1 to 2147483647`,
		"entry = 'k'\ngrid = [1, 65536]\nblock = 1":   "grid in dimension y is 1 to 65535",
		"entry = 'k'\ngrid = 1\nblock = [64, 32]":     "a block of 2048 threads is larger than 1024",
		"entry = 'k'\ngrid = 1":                       "the launch has no block: write how many threads a block has",
	} {
		if got, err := bindSteps(t, "[[steps]]\n"+text, aCall()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%s, %v; want %s", text, got, err, want)
		}
	}
	for text, want := range map[string]string{
		"barrier = true\nfill = 'own'":           "a step is one of a launch, fill, copy and barrier",
		"copy = 'own'\nto = 'pad'\nfill = 'own'": "a step is one of a launch, fill, copy and barrier",
		"copy = 'own'":                           "copy needs to, the buffer that is written",
		"barrier = true\ngrid = 1":               `unknown key "grid" of a step`,
		"fill = 'own'\nto = 'pad'":               `unknown key "to" of a step fill`,
	} {
		_, err := Parse("x.toml", []byte("collective = \"barrier\"\nmodule = \"x.ptx\"\n"+fileTail+"[[steps]]\n"+text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s\n%v; want %s", text, err, want)
		}
	}
}

// A reference has the buffers of all ranks on one device, the private ones as well.
func TestReference(t *testing.T) {
	text := exampleFiles(t)["testdata/custom.yaml"]
	f, err := Parse("x.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	m := &memory{buffers: []string{"tile", "left", "right", "sum"}}
	step, err := f.BindReference(aCall(), nil, m)
	if err != nil {
		t.Fatal(err)
	}
	// The names are those of the buffers at the same places in newMemory.
	const want = "table0 0:own+0 1:own+0 2:own+0 3 | 0:input+0 1:input+0 2:input+0"
	got := words(append(step.Params, 0, 0, 0, 0)) + " | " + words(m.tables[0])
	if got != want || step.Entry != "exchange_all" {
		t.Errorf("%s %s, want %s", step.Entry, got, want)
	}
	if _, err := mustParse(t, fileHead).BindReference(aCall(), nil, m); err == nil {
		t.Error("a file without [reference] has one")
	}
}

func TestShapes(t *testing.T) {
	dim := func(x, y, z int) cudart.Dim3 { return cudart.Dim3{X: x, Y: y, Z: z} }
	for text, want := range map[string]cudart.Launch{
		"grid = 4\nblock = 128": {Blocks: 4, Threads: 128},
		"grid = [4]\nblock = '32 * world'\ncluster = 2\nshared = 'block * 4'\ncooperative = true": {
			Blocks: 4, Threads: 96, Cluster: 2, SharedBytes: 384, Cooperative: true,
		},
		"grid = [4, 'rank', 2]\nblock = [32, 4]\ncluster = [1, 1, 2]\npdl = true\nshared = 'grid + block'": {
			GridDim: dim(4, 1, 2), BlockDim: dim(32, 4, 1), ClusterDim: dim(1, 1, 2), PDL: true, SharedBytes: 136,
		},
	} {
		f := mustParse(t, "collective = 'barrier'\nmodule = 'x.ptx'\n"+text)
		steps, err := f.Bind(aCall(), nil, newMemory())
		if err != nil || steps[0].Launch != want {
			t.Errorf("%s\n%+v, %v; want %+v", text, steps, err, want)
		}
	}
}

// A call begins early if nothing can come before its first launch with PDL.
func TestBeginsEarly(t *testing.T) {
	launch := func(rest string) string { return "[[steps]]\nentry = 'x'\ngrid = 1\nblock = 32\n" + rest }
	const head = "collective = 'allreduce'\nop = 'sum'\nmodule = 'x.ptx'\n"
	for text, want := range map[string]bool{
		launch("pdl = true"):                                                                     true,
		launch("") + launch("pdl = true"):                                                        false,
		launch("when = 'count > 9'\n") + launch("pdl = true"):                                    true,
		"[[steps]]\nbarrier = true\n" + launch("pdl = true"):                                     false,
		launch("pdl = true") + "\n[buffers.own]\nsize = 4\ninit = 0\nprivate = true\n":           true,
		launch("pdl = true") + "\n[buffers.own]\nsize = 4\ninit = 0\nprivate = true\nreset=true": false,
	} {
		if got := mustParse(t, head+text).BeginsEarly(); got != want {
			t.Errorf("%s\nbegins early: %v, want %v", text, got, want)
		}
	}
}
