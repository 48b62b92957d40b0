package main

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
)

// nvmlStandIn is the command nvml-stand-in: a stand-in for NVML with two GPUs. The file faults has their errors.
func nvmlStandIn(folder string) func(ts *testscript.TestScript, neg bool, args []string) {
	library := filepath.Join(folder, "libnvidia-ml.so.1")
	compile := sync.OnceValue(func() error { return compileStandIn("nvml/testdata/fakenvml.c", library) })
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) > 0 {
			ts.Fatalf("usage: nvml-stand-in")
		}
		ts.Check(compile())
		addLibraries(ts, folder)
		ts.Setenv("FAKE_NVML_FAULTS", ts.MkAbs("faults"))
	}
}

// addLibraries has the loader look for libraries in a further folder.
func addLibraries(ts *testscript.TestScript, folder string) {
	ts.Setenv("LD_LIBRARY_PATH", strings.TrimSuffix(folder+":"+ts.Getenv("LD_LIBRARY_PATH"), ":"))
}

// compileStandIn compiles a file of a package under cudart.
func compileStandIn(source, library string) error {
	path := filepath.Join("..", "..", "cudart", source)
	out, err := exec.Command("cc", "-shared", "-fPIC", "-O1", "-o", library, path).CombinedOutput()
	if err != nil {
		return fmt.Errorf("compiling %s: %w\n%s", source, err, out)
	}
	return nil
}

// standIns are shared libraries in place of NVIDIA's. All scripts that need them have the same: a C compiler takes
// longer than most runs.
type standIns struct {
	folder  string
	compile func() error
}

func newStandIns(folder string) *standIns {
	s := &standIns{folder: folder}
	s.compile = sync.OnceValue(s.compileAll)
	return s
}

// compileAll compiles what the tests of the packages under cudart call.
func (s *standIns) compileAll() error {
	for source, name := range map[string]string{
		"driver/testdata/fakecuda.c":     "libcuda.so.1",
		"nccl/testdata/fakenccl.c":       "libnccl.so.2",
		"nvshmem/testdata/fakenvshmem.c": "libnvshmem_host.so.3",
		"cublas/testdata/fakecublas.c":   "libcublas.so.13",
	} {
		if err := compileStandIn(source, filepath.Join(s.folder, name)); err != nil {
			return err
		}
	}
	return nil
}

// use is the command stand-ins.
func (s *standIns) use(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 0 {
		ts.Fatalf("usage: stand-ins")
	}
	ts.Check(s.compile())
	addLibraries(ts, s.folder)
	ts.Setenv("FAKE_CUDA_SHARES", "1")
	ts.Setenv("FAKE_CUDA_FORGETS", "1")
}
