package kernelcode

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"gpurun/kernels/kernelfile"
)

const tritonPTX = `.version 8.0
.target sm_90a
.address_size 64
.visible .entry add(.param .u64 .ptr .global .align 1 a, .param .u64 b, .param .u32 n, .param .u64 global_scratch)
.reqntid 128
{ ret; }
`

// folderOf writes files into a folder.
func folderOf(t *testing.T, files map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// A folder of Triton's cache has the code and the launch, in the forms of several versions.
func TestTritonFolder(t *testing.T) {
	const target = `"target": {"backend": "cuda", "arch": 90, "warp_size": 32}`
	for name, c := range map[string]struct {
		json string
		want *kernelfile.Triton
		err  string
	}{
		"one CTA": {
			`{"name": "add", "num_warps": 4, "num_ctas": 1, "shared": 512, "cluster_dims": [1, 1, 1], ` + target + `}`,
			&kernelfile.Triton{Threads: 128, Shared: 512, Cluster: 1}, "",
		},
		"a cluster": {
			`{"num_warps": 8, "num_ctas": 2, "shared": 0, "cluster_dims": [2, 1, 1], ` + target + `}`,
			&kernelfile.Triton{Threads: 256, Cluster: 2}, "",
		},
		"without cluster_dims": {
			`{"num_warps": 1, "num_ctas": 4, "shared": 0}`, &kernelfile.Triton{Threads: 32, Cluster: 4}, "",
		},
		"another backend": {`{"num_warps": 4, "shared": 0, "target": {"backend": "hip", "arch": "gfx942"}}`, nil, "hip"},
		"no warps":        {`{"num_warps": 0, "shared": 0}`, nil, "num_warps is 0"},
		"negative":        {`{"num_warps": 4, "shared": -1}`, nil, "shared is -1"},
		"cluster of none": {`{"num_warps": 4, "shared": 0, "cluster_dims": [0, 1, 1]}`, nil, "cluster_dims has 0"},
		"a wrong type":    {`{"num_warps": 4, "shared": "0"}`, nil, "add.json"},
	} {
		folder := folderOf(t, map[string]string{
			"add.ptx": tritonPTX, "add.json": c.json, "__grp__add.json": `{"child_paths": {}}`, "add.ttir": "module {}",
		})
		m, names, err := readModule(folder)
		switch {
		case c.err == "" && err != nil, c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)):
			t.Errorf("%s: error %v, want %q", name, err, c.err)
		case c.err != "":
		default:
			want := kernelfile.Module{
				Path: filepath.Join(folder, "add.ptx"), PTX: true, SM: 90, Specific: true, Code: []byte(tritonPTX),
				Entries: map[string][]kernelfile.Param{"add": {
					{Bytes: 8, Align: 8},
					{Bytes: 8, Align: 8},
					{Bytes: 4, Align: 4},
					{Bytes: 8, Align: 8},
				}},
				Bounds: map[string]kernelfile.Bounds{"add": {Block: [3]int{128, 1, 1}}},
				Triton: c.want,
			}
			if diff := cmp.Diff(want, m); diff != "" || !cmp.Equal(names, []string{"add"}) {
				t.Errorf("%s: %q, %s", name, names, diff)
			}
		}
	}
}

func TestFoldersThatAreNotOfTriton(t *testing.T) {
	const some = `{"num_warps": 4, "shared": 0}`
	for want, files := range map[string]map[string]string{
		"a folder without a NAME.json":  {"add.ptx": tritonPTX},
		"has the kernels add, sub":      {"add.ptx": tritonPTX, "add.json": some, "sub.cubin": "", "sub.json": some},
		"a broken ELF file":             {"add.cubin": "\x7fELF", "add.json": some},
		"add.ptx:1: want a declaration": {"add.ptx": "words", "add.json": some},
	} {
		if _, _, err := readModule(folderOf(t, files)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// JSON beside a file of code is Triton's only if it says how many warps there are: a kernel file may be JSON, too.
func TestJSONBesideCode(t *testing.T) {
	for text, want := range map[string]bool{
		`{"num_warps": 4, "shared": 0}`: true, `{"collective": "allreduce", "shared": "4 * world"}`: false, "no JSON": false,
		"[]": false,
	} {
		folder := folderOf(t, map[string]string{"add.ptx": tritonPTX, "add.json": text})
		m, _, err := readModule(filepath.Join(folder, "add.ptx"))
		if err != nil || (m.Triton != nil) != want {
			t.Errorf("%s: %+v, %v", text, m.Triton, err)
		}
	}
}
