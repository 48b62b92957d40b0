package worker

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"gpurun/kernels/kernelfile"
	"gpurun/worker/workload"
)

// custom runs a custom file of int32, whose code is testdata/custom.ptx, on two ranks. It returns how many elements
// were wrong, and the first error.
func custom(t *testing.T, text string, size int64, timeout time.Duration) (wrong int64, err error) {
	t.Helper()
	return customSizes(t, text, []int64{size}, timeout)
}

// customSizes is custom for several sizes, one after the other.
func customSizes(t *testing.T, text string, sizes []int64, timeout time.Duration) (wrong int64, err error) {
	t.Helper()
	return customJob(t, text, workload.Job{Sizes: sizes, Timeout: timeout})
}

// customJob is custom for a job whose collective, algorithm, type and iterations it sets.
func customJob(t *testing.T, text string, job workload.Job) (wrong int64, err error) {
	t.Helper()
	folder := t.TempDir()
	code, err := os.ReadFile("testdata/custom.ptx")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(folder, "mine.toml")
	for name, content := range map[string][]byte{
		"mine.toml":   []byte("collective = \"custom\"\ntype = \"int32\"\nmodule = \"custom.ptx\"\n" + text),
		"custom.ptx":  code,
		"squares.npy": npy(func(i int) int32 { return int32(i * i) }, 64),
	} {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	job.Collective, job.Algorithms, job.DTypes = kernelfile.Custom, []string{path}, []string{"int32"}
	job.Iterations, job.Verify, job.KernelFiles = 3, true, []*kernelfile.Bundle{bundle(t, path, 2)}
	results, errs := ranks{world: 2}.run(t, job)
	for _, r := range results {
		wrong += *r.Wrong
	}
	return wrong, errors.Join(errs...)
}

// npy writes an array of int32 in NumPy's format.
func npy(value func(i int) int32, count int) []byte {
	header := fmt.Sprintf("{'descr': '<i4', 'fortran_order': False, 'shape': (%d,), }", count)
	header += strings.Repeat(" ", 117-len(header)) + "\n"
	var b bytes.Buffer
	b.WriteString("\x93NUMPY\x01\x00")
	binary.Write(&b, binary.LittleEndian, uint16(len(header)))
	b.WriteString(header)
	for i := range count {
		binary.Write(&b, binary.LittleEndian, value(i))
	}
	return b.Bytes()
}

const output = `
[buffers.y]
role = "output"
type = "int32"
size = "bytes"
`

// What a file promises is verified: to the element, and in the memory around every buffer.
func TestPromisesOfKernelFiles(t *testing.T) {
	const store = "entry = \"store\"\ngrid = \"ceil(count / 64) + 1\"\nblock = 64\n"
	const expect = output + "expect = \"100 * rank + i\"\n"
	for _, tt := range []struct {
		name, text string
		wrong      int64  // of 64 elements of two ranks, before timing and after
		err        string // part of it
	}{
		{"right", store + `args = [{pointer = "y"}, {u32 = "100 * rank"}, {u32 = "count"}]` + expect, 0, ""},
		{"one too few", store + `args = [{pointer = "y"}, {u32 = "100 * rank"}, {u32 = "count - 1"}]` + expect, 4, ""},
		{"wrong values", store + `args = [{pointer = "y"}, {u32 = "100 * rank + 1"}, {u32 = "count"}]` + expect, 256, ""},
		{
			"behind the output", store + `args = [{pointer = "y"}, {u32 = "100 * rank"}, {u32 = "count + 2"}]` + expect, 0,
			"8 bytes behind the buffer y have changed, the nearest at a distance of 0",
		},
		{
			"in front of the output", store +
				`args = [{pointer = "y", offset = "-8"}, {u32 = "100 * rank + 5"}, {u32 = "count + 2"}]` + expect, 0,
			"8 bytes in front of the buffer y have changed, the nearest at a distance of 0",
		},
		{
			"behind a small buffer", store + `args = [{pointer = "pad"}, {u32 = 1}, {u32 = 2}]` +
				"\n[buffers.pad]\nsize = 4\n" + expect, 0,
			"4 bytes behind the buffer pad have changed, the nearest at a distance of 0",
		},
		{
			"more blocks than are resident", "entry = \"wait\"\ngrid = 1025\nblock = 32\nresident = \"grid\"\n" +
				`args = [{pointer = "flag"}]` + "\n[buffers.flag]\nsize = 4\ninit = 0\n" + expect, 0,
			"1025 blocks of 32 threads must be resident at once, and gpurun simulator holds 1024: make the grid smaller",
		},
		{
			"not restored", store + `args = [{pointer = "pad"}, {u32 = 1}, {u32 = 2}]` +
				"\n[buffers.pad]\nsize = 64\ninit = 0\nrestored = true\n" + expect, 0,
			"has not restored the buffer pad: byte 0 was 0x00 before the first call, and is 0x01",
		},
		{
			"a variable", store + `args = [{pointer = "y"}, {u32 = 0}, {u32 = "count"}]` +
				"\n[globals]\nbase = {u32 = \"100 * rank\"}" + expect, 0, "",
		},
		{
			"no such variable", store + `args = [{pointer = "y"}, {u32 = 0}, {u32 = "count"}]` +
				"\n[globals]\nbases = {u32 = 1}" + expect, 0, "no module has a variable bases",
		},
		{
			"an input by expression", "entry = \"copy\"\ngrid = 1\nblock = 64\n" +
				`args = [{pointer = "y"}, {pointer = "x"}, {u32 = "count"}]` +
				"\n[buffers.x]\nrole = \"input\"\ntype = \"int32\"\nsize = \"bytes\"\ninit = {i32 = \"100 * rank + i\"}\n" + expect,
			0, "",
		},
		{
			"files", "entry = \"copy\"\ngrid = 1\nblock = 64\n" +
				`args = [{pointer = "y"}, {pointer = "x"}, {u32 = "count"}]` +
				"\n[buffers.x]\nrole = \"input\"\ntype = \"int32\"\nsize = \"bytes\"\ninit_file = \"squares.npy\"\n" +
				output + "expect_file = \"squares.npy\"\n", 0, "",
		},
		{
			"an input changed", store + `args = [{pointer = "x"}, {u32 = 5}, {u32 = "count"}]` +
				"\n[buffers.x]\nrole = \"input\"\ntype = \"int32\"\nsize = \"bytes\"\n" + output +
				"expect_file = \"squares.npy\"\n", 0, "the input x: an out-of-place call changed its input",
		},
		{
			"another size than the file's", "entry = \"copy\"\ngrid = 1\nblock = 64\n" +
				`args = [{pointer = "y"}, {pointer = "y"}, {u32 = "count"}]` + output + "expect_file = \"none.npy\"\n", 0,
			"none.npy: no such file",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wrong, err := custom(t, tt.text, 256, 0)
			if wrong != tt.wrong || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
				t.Errorf("%d wrong, %v; want %d wrong, %q", wrong, err, tt.wrong, tt.err)
			}
		})
	}
}

// Signals persist from call to call, unless the file asks for a reset, and rotate.
func TestSignalsPersist(t *testing.T) {
	const text = "entry = \"increment\"\ngrid = 1\nblock = 1\n" + `args = [{pointer = "y"}, {pointer = "counter"}]` +
		output + "expect = 0\n[buffers.counter]\nsize = 4\ninit = 0\n"
	for extra, want := range map[string]int64{
		"":                2, // the call after timing finds what the others have counted
		"reset = true\n":  0,
		"rotate = 64\n":   0,
		"rotate = 4\n":    2, // one before timing, three timed, one after
		"restored = true": 0, // and an error
	} {
		wrong, err := custom(t, text+extra, 4, 0)
		if wrong != want || (err != nil) != (extra == "restored = true") {
			t.Errorf("%q: %d wrong, %v; want %d wrong", extra, wrong, err, want)
		}
	}
}

// A kernel file whose kernel waits for ever is a hang with its place.
func TestKernelFileThatHangs(t *testing.T) {
	t.Parallel()
	_, err := custom(t, "entry = \"wait\"\ngrid = 2\nblock = 32\nargs = [{pointer = \"flag\"}]\n[buffers.flag]\n"+
		"size = 4\ninit = 0\n"+output+"expect = 0\n", 4, time.Second)
	for _, want := range []string{"wait", "custom.ptx:"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
}
