// Command build compiles the kernels to PTX with clang and writes the manifest
// beside them. Run it through go generate ./kernels.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"gpurun/kernels"
	"gpurun/kernels/ptx"
)

// compiler is Debian's name for the clang whose output is committed.
const compiler = "clang-22"

// flags leave no contraction to the compiler, so that sums round alike
// everywhere; ptx74 is what the driver of CUDA 11.4 reads.
var flags = []string{
	"-x", "cuda", "--cuda-device-only", "-nocudainc", "-nocudalib",
	"--cuda-gpu-arch=sm_80", "-Xclang", "-target-feature", "-Xclang", "+ptx74",
	"-std=c++20", "-O3", "-ffp-contract=off", "-fwrapv", "-Wall", "-Wextra", "-Werror", "-S",
}

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, "building the PTX:", err)
		os.Exit(1)
	}
}

// run compiles into root/ptx, where root is the folder kernels/.
func run(root string) error {
	m := ptx.Manifest{Compiler: compiler, Flags: flags}
	for _, b := range wanted() {
		var err error
		if b.Hash, err = hash(os.DirFS(root), b.Source); err != nil {
			return err
		}
		if err := compile(root, b); err != nil {
			return err
		}
		m.Modules = append(m.Modules, b)
	}
	return writeManifest(filepath.Join(root, "ptx", "MANIFEST.json"), m)
}

// wanted lists the modules of the catalog, and the one that carries the layout
// of the shared structs.
func wanted() []ptx.Built {
	built := []ptx.Built{{Name: "layout", Source: "device/layout.cu"}}
	for _, m := range kernels.Modules() {
		built = append(built, ptx.Built{Name: m.Name, Source: m.Algorithm.Source, Element: m.DType.Element})
	}
	slices.SortFunc(built, func(a, b ptx.Built) int { return strings.Compare(a.Name, b.Name) })
	return built
}

func compile(root string, b ptx.Built) error {
	args := slices.Clone(flags)
	if b.Element != "" {
		args = append(args, "-DELEMENT="+b.Element)
	}
	args = append(args, b.Source, "-o", filepath.Join("ptx", b.Name+".ptx"))
	cmd := exec.Command(compiler, args...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compiling %s: %w (on Debian: apt-get install %s)\n%s", b.Source, err, compiler, out)
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
