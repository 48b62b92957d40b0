package scripts

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// slurm-health.sh drains a node after each exit code by which doctor or smoke finds the machine unfit, and no other.
func TestSlurmHealthDrains(t *testing.T) {
	script, err := os.ReadFile("slurm-health.sh")
	if err != nil {
		t.Fatal(err)
	}
	for code, drains := range map[int]bool{
		0: false, 1: true, 2: false, 3: true, 4: true, 5: true, 6: true, 99: true, 143: false, 220: true,
	} {
		folder := t.TempDir()
		drained := filepath.Join(folder, "drained")
		for name, text := range map[string]string{
			"gpurun":   fmt.Sprintf("echo FAIL: some reason; exit %d", code),
			"scontrol": "case $1 in update) echo \"$@\" >>" + drained + " ;; esac",
			"logger":   "true",
		} {
			install(t, filepath.Join(folder, name), "#!/bin/sh\n"+text+"\n")
		}
		cmd := exec.Command("bash", "-c", string(script))
		cmd.Env = append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"), "SLURMD_NODENAME=node1")
		out, err := cmd.CombinedOutput()
		if _, missing := os.Stat(drained); (missing == nil) != drains || (err != nil) != drains {
			t.Errorf("exit code %d: drained %v, want %v; %v\n%s", code, missing == nil, drains, err, out)
		}
	}
}
