package main

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"gpurun/kernels/ptx"
	"gpurun/kernels/ptx/pack"
)

// The committed PTX is what the sources, the flags and the catalog of today
// would give.
func TestPTXIsFresh(t *testing.T) {
	for _, target := range targets() {
		got := readManifest(filepath.Join("../..", target.folder, "MANIFEST.json"))
		want, err := manifest("../..", target.modules)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("the PTX of %s is stale: run go generate ./kernels\n(-want +got)\n%s", target.folder, diff)
		}
	}
}

// Every file of PTX is a module of the manifest: none is left of what went.
func TestNoPTXIsLeftOver(t *testing.T) {
	for _, target := range targets() {
		files, err := filepath.Glob(filepath.Join("../..", target.folder, "*.ptx"))
		if err != nil {
			t.Fatal(err)
		}
		var got, want []string
		for _, f := range files {
			got = append(got, strings.TrimSuffix(filepath.Base(f), ".ptx"))
		}
		for _, m := range target.modules {
			want = append(want, m.Name)
		}
		slices.Sort(got) // by name, not by file name: "." is before "_"
		slices.Sort(want)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s has other modules than the catalog: run go generate ./kernels\n(-catalog +folder)\n%s",
				target.folder, diff)
		}
	}
}

// What the binary has is the text that people read.
func TestPackedPTXIsTheText(t *testing.T) {
	for _, m := range wanted() {
		text, err := os.ReadFile(filepath.Join("..", m.Name+".ptx"))
		if err != nil {
			t.Fatal(err)
		}
		unpacked, err := ptx.Source(m.Name)
		if err != nil || string(unpacked) != string(text) {
			t.Errorf("the packed %s is not the text, %v: run go generate ./kernels", m.Name, err)
		}
	}
	files, err := filepath.Glob("../packed/" + pack.FileOf("*"))
	if err != nil || len(files) != len(wanted()) {
		t.Errorf("%d packed files of %d modules, %v: run go generate ./kernels", len(files), len(wanted()), err)
	}
}

// Every .cu file is in some module: a new one is listed by its algorithm.
func TestEverySourceIsBuilt(t *testing.T) {
	root := os.DirFS("../..")
	built := map[string]bool{}
	for _, target := range targets() {
		for _, m := range target.modules {
			built[m.Source] = true
		}
	}
	sources := 0
	err := fs.WalkDir(root, ".", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) != ".cu" {
			return err
		}
		sources++
		if !built[name] {
			t.Errorf("%s is in no module: list its algorithm in the Collective of that folder, and run go generate ./kernels",
				name)
		}
		return err
	})
	if err != nil || sources == 0 {
		t.Fatalf("found %d sources: %v", sources, err)
	}
}

// Only what has changed, or is gone, is compiled again.
func TestStale(t *testing.T) {
	folder := t.TempDir()
	for _, name := range []string{"same", "changed", "moved", "newer", "new"} {
		if err := os.WriteFile(filepath.Join(folder, name+".ptx"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	built := func(name, hash string, defines ...string) ptx.Built {
		return ptx.Built{Name: name, Hash: hash, ISA: "+ptx80", Defines: defines}
	}
	newer := built("newer", "1")
	newer.ISA = "+ptx81"
	old := ptx.Manifest{Compiler: "clang", Modules: []ptx.Built{
		built("same", "1", "A=1"), built("changed", "1"), built("moved", "1", "A=1"), built("newer", "1"), built("gone", "1"),
	}}
	m := ptx.Manifest{Compiler: "clang", Modules: []ptx.Built{
		built("same", "1", "A=1"), built("changed", "2"), built("moved", "1", "A=2"), built("gone", "1"), built("new", "1"),
		newer,
	}}
	want := map[string]bool{"changed": true, "moved": true, "newer": true, "gone": true, "new": true}
	if diff := cmp.Diff(want, stale(folder, old, m)); diff != "" {
		t.Error(diff)
	}
	m.Flags = []string{"-O2"}
	if got := stale(folder, old, m); len(got) != len(m.Modules) {
		t.Errorf("with other flags %v", got)
	}
}

// Neither calls nor local memory get into PTX.
func TestSlowCodeIsRefused(t *testing.T) {
	for text, wrong := range map[string]bool{
		"ld.global.b32 %r1, [%rd1];":               false,
		"call.uni _Z4helpv, ();":                   true,
		".local .align 8 .b8 __local_depot1[720];": true,
	} {
		if err := check([]byte(text)); (err != nil) != wrong {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A change of any header, or of the file itself, changes the hash.
func TestHashSeesEveryFile(t *testing.T) {
	base, err := hash(sources("a", "b"), "x.cu")
	if err != nil {
		t.Fatal(err)
	}
	for name, tree := range map[string][2]string{
		"header": {"A", "b"},
		"kernel": {"a", "B"},
		"moved":  {"ab", ""},
	} {
		changed, err := hash(sources(tree[0], tree[1]), "x.cu")
		if err != nil {
			t.Fatal(err)
		}
		if changed == base {
			t.Errorf("%s: the hash did not change", name)
		}
	}
}

// So does a change of a header beside the file.
func TestHashSeesHeadersBesideTheFile(t *testing.T) {
	of := func(header string) string {
		sum, err := hash(fstest.MapFS{
			"device/h.cuh": {}, "x/x.cu": {}, "x/h.cuh": {Data: []byte(header)}, "y/h.cuh": {Data: []byte("y")},
		}, "x/x.cu")
		if err != nil {
			t.Fatal(err)
		}
		return sum
	}
	if of("a") == of("b") {
		t.Error("the hash did not change")
	}
}

// sources is a kernels folder with one header and one kernel.
func sources(header, kernel string) fstest.MapFS {
	return fstest.MapFS{
		"device/h.cuh": {Data: []byte(header)},
		"x.cu":         {Data: []byte(kernel)},
	}
}
