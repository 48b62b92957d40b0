package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"gpurun/kernels/examples/zoo"
)

// A plain run of the simulator verifies values under one schedule, and finds fewer than half of the mistakes. How many
// depends on the machine's load. With the flag -update the number is written into docs/check-zoo.md.
func TestPlainRunsMissMistakes(t *testing.T) {
	path := filepath.Join(repository, "docs", "check-zoo.md")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := len(zoo.Mistakes())
	measured := regexp.MustCompile(`found\s\d+\sof\sthe\s(\d+)\smistakes`)
	if m := measured.FindSubmatch(text); m == nil || string(m[1]) != fmt.Sprint(all) {
		t.Errorf("docs/check-zoo.md does not say how many of the %d mistakes a plain run finds: %q", all, m)
	}
	shard := os.Getenv("GPURUN_SHARD")
	if os.Getenv("GPURUN_EXHAUSTIVE") != "1" || shard != "" && !strings.HasPrefix(shard, "0/") {
		t.Skip("some runs wait until a kernel counts as hung: GPURUN_EXHAUSTIVE=1 runs them, and of the shards number 0")
	}
	t.Parallel()
	gpurun := executable(t)
	var found []string
	for _, m := range zoo.Mistakes() {
		file := filepath.Join(repository, "kernels", "examples", "zoo", m.Name+".toml")
		args := []string{"kernel", file, "--nproc-per-node", "2", "--device", "sim", "-T", "5s"}
		out, err := exec.Command(gpurun, args...).CombinedOutput()
		if err == nil {
			continue
		}
		found = append(found, m.Name)
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		t.Logf("%s: %v: %s", m.Name, err, lines[len(lines)-1])
	}
	if n := len(found); n == 0 || 2*n >= all {
		t.Errorf("a plain run finds %d of %d mistakes: %v", n, all, found)
	}
	if f := flag.Lookup("update"); f != nil && f.Value.String() == "true" {
		made := measured.ReplaceAll(text, fmt.Appendf(nil, "found %d of the %d mistakes", len(found), all))
		if err := os.WriteFile(path, made, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// executable copies this program to the name gpurun: see TestMain. Another process writes the copy: a file that this
// one writes is open for a moment in what other tests start meanwhile, and such a file cannot be executed.
func executable(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "gpurun")
	if out, err := exec.Command("cp", self, path).CombinedOutput(); err != nil {
		t.Fatalf("cp: %v: %s", err, out)
	}
	return path
}
