package pyhook

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// lazyTorch imports a submodule when somebody asks for it, as PyTorch does.
const lazyTorch = `
import importlib
def __getattr__(name):
    if name == "_inductor":
        return importlib.import_module("." + name, __name__)
    raise AttributeError(name)
`

// A dump does not import torch._inductor. The program itself can, in any of its threads, and dumps see it then.
func TestDumpsDoNotImportInductor(t *testing.T) {
	t.Parallel()
	cc, err := exec.LookPath("cc")
	if err != nil {
		t.Skip(err)
	}
	folder := t.TempDir()
	library := filepath.Join(folder, "asks.so")
	compile := exec.Command(cc, "-shared", "-fPIC", "-o", library, "testdata/asksinductor.c")
	if out, err := compile.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	torch := filepath.Join(folder, "torch")
	if err := os.MkdirAll(filepath.Join(torch, "_inductor"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"__init__.py": lazyTorch, "_inductor/__init__.py": "imported = True"} {
		if err := os.WriteFile(filepath.Join(torch, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const dump = `
import ctypes, sys, threading
asks = ctypes.CDLL(sys.path[1] + "/asks.so").has_inductor
import torch
`
	for name, c := range map[string]struct{ program, want string }{
		"a dump":                        {`print(asks(), "torch._inductor" in sys.modules)`, "0 False"},
		"two dumps, then the program":   {`print(asks(), asks(), torch._inductor.imported, asks())`, "0 0 True 1"},
		"a thread of the program":       {inThread, "True"},
		"an import statement, a dump":   {"import torch._inductor\nprint(asks())", "1"},
		"a callback in a native thread": {callback, "True"},
	} {
		variables := map[string]string{"PYTHONPATH": folder, "TORCH_NCCL_DEBUG_INFO_PIPE_FILE": "/p"}
		if got := python(t, dump+c.program, variables); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	got := python(t, dump+`print(asks())`, map[string]string{"PYTHONPATH": folder})
	if got != "1" {
		t.Errorf("without a flight recorder's pipe: %q", got)
	}
}

const inThread = `
t = threading.Thread(target=lambda: print(torch._inductor.imported))
t.start()
t.join()
`

// callback has a thread that Python did not start call a function of the program, which uses torch._inductor.
const callback = `
@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
def use(_): print(torch._inductor.imported, flush=True)
libc, thread = ctypes.CDLL(None), ctypes.c_ulong()
libc.pthread_create(ctypes.byref(thread), None, use, None)
libc.pthread_join(thread, None)
`
