package orphans

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"gpurun/worker/process/procfs"
)

const agentVariable = "GPURUN_TEST_AGENT"

// start starts a process with a mark.
func start(t *testing.T, mark string, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command("sleep", "1000")
	cmd.Env = append(env, Variable+"="+mark)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
	return cmd
}

// runs reports whether a process has not been killed.
func runs(cmd *exec.Cmd) bool {
	p, err := procfs.Read(cmd.Process.Pid)
	return err == nil && !p.Zombie
}

func TestSweepEndsOnlyOrphans(t *testing.T) {
	folder := t.TempDir()
	alive, err := Mark()
	if err != nil {
		t.Fatal(err)
	}
	namespace, rest, _ := strings.Cut(alive, "-")
	pid, _, _ := strings.Cut(rest, "-")
	reused, elsewhere := namespace+"-"+pid+"-1", "1-"+rest[:len(rest)-1]
	guarded := namespace + "-" + pid + "-2"
	for _, mark := range []string{alive, reused, elsewhere, guarded, "nonsense"} {
		if err := os.Mkdir(filepath.Join(folder, FolderPattern(mark)+"1"), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	orphan := start(t, reused)
	others := []*exec.Cmd{
		start(t, alive), start(t, elsewhere), start(t, "nonsense"), start(t, guarded), start(t, guarded, agentVariable+"=3"),
	}
	if err := Sweep(folder, agentVariable); err != nil {
		t.Fatal(err)
	}
	if runs(orphan) {
		t.Error("the process of a guard that is gone runs")
	}
	for i, other := range others {
		if !runs(other) {
			t.Errorf("process %d was killed", i)
		}
	}
	left, err := filepath.Glob(folder + "/*")
	if err != nil || len(left) != 4 {
		t.Errorf("folders %v, %v", left, err)
	}
}
