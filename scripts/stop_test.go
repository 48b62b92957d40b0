package scripts

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// What a benchmark runs ends when the benchmark is told to: on a machine with GPUs it would
// slow down whatever is measured next.
func TestStoppedBenchmarksLeaveNothing(t *testing.T) {
	for _, script := range []string{"collectives-bench.sh", "matmul-bench.sh", "gemm-shapes.sh", "first-use.sh"} {
		t.Run(script, func(t *testing.T) {
			root := t.TempDir()
			text, err := os.ReadFile(script)
			if err != nil {
				t.Fatal(err)
			}
			install(t, filepath.Join(root, "scripts", script), string(text))
			install(t, filepath.Join(root, "build", "gpurun"), "#!/bin/sh\necho $$ >pid.new && mv pid.new pid\nexec sleep 60\n")
			cmd := exec.Command(filepath.Join(root, "scripts", script))
			cmd.Env = append(os.Environ(), "GPUS=2", "RESULTS="+filepath.Join(root, "results"))
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			pid := awaitNumber(t, filepath.Join(root, "pid"))
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			var exit *exec.ExitError
			if err := cmd.Wait(); !errors.As(err, &exit) || exit.ExitCode() != 143 {
				t.Errorf("the script ended with %v, want exit code 143", err)
			}
			for began := time.Now(); runs(pid); time.Sleep(10 * time.Millisecond) {
				if time.Since(began) > 10*time.Second {
					_ = syscall.Kill(pid, syscall.SIGKILL)
					t.Fatal("what it ran goes on")
				}
			}
		})
	}
}

// runs reports whether a process runs. One that has ended and waits for init to reap it does not.
func runs(pid int) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	return err == nil && !strings.Contains(string(status), "\nState:\tZ")
}

func install(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// awaitNumber reads a number from a file as soon as that is there.
func awaitNumber(t *testing.T, path string) int {
	t.Helper()
	for began := time.Now(); time.Since(began) < 30*time.Second; time.Sleep(10 * time.Millisecond) {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	t.Fatal("nothing was run")
	return 0
}
