package agent

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The guard says why its agent crashed. The stacks are in a file.
func TestCrashOfTheAgentIsExplained(t *testing.T) {
	t.Parallel()
	g := startGpurun(t, 2, "exec sleep 1000", func(cmd *exec.Cmd) { cmd.Env = append(cmd.Env, faultVariable+"="+crashes) })
	g.wait(t)
	text := g.stderr.String()
	if !strings.Contains(text, "crashed: panic: on purpose; ") || strings.Contains(text, "goroutine") {
		t.Errorf("stderr: %s", text)
	}
	files, err := filepath.Glob(g.tmp + "/gpurun-crash-*.txt")
	if err != nil || len(files) != 1 {
		t.Fatalf("files %v, %v", files, err)
	}
	if stacks, err := os.ReadFile(files[0]); err != nil || !strings.Contains(string(stacks), "goroutine") {
		t.Errorf("the file has %q, %v", stacks, err)
	}
	if err := os.Remove(files[0]); err != nil {
		t.Fatal(err)
	}
	g.leavesNothing(t)
}
