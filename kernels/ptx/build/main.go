// Command build compiles the kernels to PTX with clang and writes the manifest beside them. Modules whose sources are
// those of the manifest are not compiled again. Run it by go generate ./kernels; after a change of this command use
// -a, which compiles all modules.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"golang.org/x/sync/errgroup"

	"gpurun/kernels"
	"gpurun/kernels/collective"
	"gpurun/kernels/examples"
	"gpurun/kernels/examples/zoo"
	"gpurun/kernels/ptx"
)

// compiler is Debian's name for the clang whose output is committed.
const compiler = "clang-22"

// flags leave no contraction to the compiler, so that sums round alike
// everywhere, and have it inline everything: the kernels' templates are written
// for that.
var flags = []string{
	"-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib",
	"-std=c++20", "-O3", "-mllvm", "-inline-all-viable-calls",
	"-ffp-contract=off", "-fwrapv", "-Wall", "-Wextra", "-Werror", "-S",
}

// isa is the least PTX version that has what an architecture's kernels use. That
// of sm_80 is what the driver of CUDA 11.4 reads.
var isa = map[collective.Arch]string{
	collective.SM80:   "+ptx74",
	collective.SM90:   "+ptx82",
	collective.SM90a:  "+ptx81",
	collective.SM100a: "+ptx86",
}

func main() {
	all := flag.Bool("a", false, "compile all modules, also those whose sources have not changed: after a change of "+
		"this command or its flags")
	flag.Parse()
	if err := run(".", *all); err != nil {
		fmt.Fprintln(os.Stderr, "building the PTX:", err)
		os.Exit(1)
	}
}

// target is a folder of PTX, below kernels/, with its manifest.
type target struct {
	folder   string
	modules  []collective.Module
	embedded bool // the PTX is in the binary: it is shortened and packed
	lines    bool // name the lines of the source
}

// targets lists all folders.
func targets() []target {
	return []target{
		{folder: "ptx", modules: wanted(), embedded: true},
		{folder: "examples", modules: examples.Modules()},
		{folder: "examples/zoo", modules: zoo.Modules(), lines: true},
	}
}

// run compiles all targets, where root is the folder kernels/.
func run(root string, all bool) error {
	for _, t := range targets() {
		if err := t.run(root, all); err != nil {
			return err
		}
	}
	return nil
}

// run compiles several modules at a time, and removes what is no longer wanted.
func (t target) run(root string, all bool) error {
	m, err := manifest(root, t.modules)
	if err != nil {
		return err
	}
	folder := filepath.Join(root, t.folder)
	path := filepath.Join(folder, "MANIFEST.json")
	old := ptx.Manifest{}
	if !all {
		old = readManifest(path)
	}
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	changed := stale(folder, old, m)
	for _, module := range t.modules {
		if changed[module.Name] {
			group.Go(func() error { return t.compile(root, module) })
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	fmt.Printf("%s: compiled %d of %d modules\n", t.folder, len(changed), len(t.modules))
	if err := removeOthers(folder, t.modules); err != nil {
		return err
	}
	if t.embedded {
		if err := packAll(folder, m); err != nil {
			return err
		}
	}
	return writeManifest(path, m)
}

// readManifest is the manifest that was written last. One that cannot be read counts as empty.
func readManifest(path string) (m ptx.Manifest) {
	if text, err := os.ReadFile(path); err == nil {
		_ = json.Unmarshal(text, &m)
	}
	return m
}

// stale names the modules of a manifest whose PTX is not in the folder, or was made of something else
// according to an old manifest.
func stale(folder string, old, m ptx.Manifest) map[string]bool {
	same := old.Compiler == m.Compiler && slices.Equal(old.Flags, m.Flags)
	names := map[string]bool{}
	for _, b := range m.Modules {
		asBefore := func(o ptx.Built) bool { return reflect.DeepEqual(o, b) }
		_, err := os.Stat(filepath.Join(folder, b.Name+".ptx"))
		if err != nil || !same || !slices.ContainsFunc(old.Modules, asBefore) {
			names[b.Name] = true
		}
	}
	return names
}

// manifest describes modules and the sources that they are made of.
func manifest(root string, modules []collective.Module) (ptx.Manifest, error) {
	m := ptx.Manifest{Compiler: compiler, Flags: flags}
	for _, module := range modules {
		sum, err := hash(os.DirFS(root), module.Source)
		if err != nil {
			return m, err
		}
		m.Modules = append(m.Modules, ptx.Built{
			Name: module.Name, Source: module.Source, Arch: module.Arch.String(), ISA: isa[module.Arch],
			Defines: module.Defines, Hash: sum,
		})
	}
	return m, nil
}

// removeOthers deletes the PTX of modules that no longer exist.
func removeOthers(folder string, modules []collective.Module) error {
	files, err := filepath.Glob(filepath.Join(folder, "*.ptx"))
	if err != nil {
		return err
	}
	for _, file := range files {
		named := func(m collective.Module) bool { return m.Name+".ptx" == filepath.Base(file) }
		if slices.ContainsFunc(modules, named) {
			continue
		}
		if err := os.Remove(file); err != nil {
			return err
		}
	}
	return nil
}

// wanted lists the modules of the catalog, and those with the layouts of the shared structs.
func wanted() []collective.Module {
	modules := append(kernels.Modules(),
		collective.Module{Name: "layout", Source: "device/layout.cu", Arch: collective.SM80},
		collective.Module{Name: "matmul_layout", Source: "matmul/cuda/layout.cu", Arch: collective.SM80})
	slices.SortFunc(modules, func(a, b collective.Module) int { return strings.Compare(a.Name, b.Name) })
	return modules
}

// compile writes a module's PTX.
func (t target) compile(root string, m collective.Module) error {
	args := append(slices.Clone(flags), "--cuda-gpu-arch="+m.Arch.String(), "-Xclang", "-target-feature", "-Xclang",
		isa[m.Arch])
	for _, define := range m.Defines {
		args = append(args, "-D"+define)
	}
	if t.lines {
		args = append(args, "-gline-directives-only", "-fdebug-compilation-dir=.", "-Xclang", "-fno-verbose-asm")
	}
	args = append(args, m.Source, "-o", "-")
	cmd := exec.Command(compiler, args...)
	cmd.Dir = root
	var messages strings.Builder
	cmd.Stderr = &messages
	text, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("compiling %s: %w (on Debian: apt-get install %s)\n%s", m.Name, err, compiler, messages.String())
	}
	if err := check(text); err != nil {
		return fmt.Errorf("compiling %s: %w", m.Name, err)
	}
	if t.embedded {
		text = shorten(text)
	}
	return os.WriteFile(filepath.Join(root, t.folder, m.Name+".ptx"), text, 0o644)
}

// check refuses code that is right but slow.
func check(text []byte) error {
	switch {
	case bytes.Contains(text, []byte("call.uni")):
		return errors.New("not everything was inlined")
	case bytes.Contains(text, []byte("__local_depot")):
		return errors.New("a thread keeps something in local memory: a copy of the parameters, perhaps, " +
			"where code chooses between addresses of them (choose between their values)")
	}
	return nil
}

func writeManifest(path string, m ptx.Manifest) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(text, '\n'), 0o644)
}
