package pyhook

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// python runs a program that is prepared, with further variables, and returns its output.
func python(t *testing.T, program string, variables map[string]string) string {
	t.Helper()
	folder := t.TempDir()
	if err := Install(filepath.Join(folder, "hook")); err != nil {
		t.Fatal(err)
	}
	stacks := filepath.Join(folder, "stacks")
	if err := os.WriteFile(stacks, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	lookup := func(name string) (string, bool) { value, ok := variables[name]; return value, ok }
	cmd := exec.Command("/usr/bin/python3", "-c", program)
	cmd.Env = []string{"STACKS=" + stacks}
	for name, value := range variables {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	cmd.Env = append(cmd.Env, Environment(filepath.Join(folder, "hook"), stacks, lookup)...)
	output, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return strings.TrimSpace(string(output))
}

func TestStacksOnRequest(t *testing.T) {
	t.Parallel()
	got := python(t, `
import os
def asks(): os.kill(os.getpid(), 23)
asks()
print(open(os.environ["STACKS"]).read())`, nil)
	if !strings.Contains(got, `line 3 in asks`) {
		t.Errorf("stacks: %q", got)
	}
}

// The module leaves no trace in sys.path and sys.modules, and another sitecustomize counts.
func TestTheModuleMakesWay(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	if err := os.WriteFile(filepath.Join(folder, "sitecustomize.py"), []byte("mine = 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	const shows = `
import sys
print(getattr(sys.modules.get("sitecustomize"), "mine", None), "hook" in str(sys.path))`
	if got := python(t, shows, map[string]string{"PYTHONPATH": folder}); got != "7 False" {
		t.Errorf("with another sitecustomize: %q", got)
	}
	if got := python(t, shows, nil); got != "None False" {
		t.Errorf("without: %q", got)
	}
}

// PyTorch before 2.8 has other names for the flight recorder's settings, and what the user has set stays.
func TestNamesForOldPyTorch(t *testing.T) {
	t.Parallel()
	const shows = `
import os
print(os.environ.get("TORCH_NCCL_TRACE_BUFFER_SIZE"), os.environ.get("TORCH_NCCL_DEBUG_INFO_TEMP_FILE"))`
	for version, want := range map[string]string{
		"2.7.1+cu128": "2000 mine", "2.8.0": "None mine", "2.11.0": "None mine", "next": "None mine",
	} {
		folder := t.TempDir()
		if err := os.MkdirAll(filepath.Join(folder, "torch"), 0o700); err != nil {
			t.Fatal(err)
		}
		text := "from typing import Optional\n\n__version__ = '" + version + "'\n"
		if err := os.WriteFile(filepath.Join(folder, "torch/version.py"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got := python(t, shows, map[string]string{
			"PYTHONPATH": folder, "TORCH_FR_BUFFER_SIZE": "2000", "TORCH_FR_DUMP_TEMP_FILE": "/f",
			"TORCH_NCCL_DEBUG_INFO_TEMP_FILE": "mine",
		})
		if got != want {
			t.Errorf("PyTorch %s: %q, want %q", version, got, want)
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	set := map[string]string{"PYTHONPATH": "/a:/b", "PYTHONFAULTHANDLER": ""}
	got := Environment("/hook", "/stacks", func(name string) (string, bool) { value, ok := set[name]; return value, ok })
	if diff := cmp.Diff([]string{"_GPURUN_STACKS=/stacks", "PYTHONPATH=/hook:/a:/b"}, got); diff != "" {
		t.Error(diff)
	}
	got = Environment("/hook", "/stacks", func(string) (string, bool) { return "", false })
	if diff := cmp.Diff([]string{"_GPURUN_STACKS=/stacks", "PYTHONPATH=/hook", "PYTHONFAULTHANDLER=1"}, got); diff != "" {
		t.Error(diff)
	}
}
