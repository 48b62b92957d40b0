package tcpstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// torchPython is a Python that has torch. Without one the test is
// skipped, except where GPURUN_REQUIRE_TORCH=1 says that there is one.
func torchPython(t testing.TB) string {
	t.Helper()
	python, err := findTorch()
	switch {
	case err == nil:
	case os.Getenv("GPURUN_REQUIRE_TORCH") == "1":
		t.Fatal(err)
	default:
		t.Skip(err)
	}
	return python
}

// findTorch finds the Python once. It does not import torch, which would take a second.
var findTorch = sync.OnceValues(func() (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	const find = "import importlib.util; assert importlib.util.find_spec('torch'), 'no module torch'"
	var tried []error
	for _, python := range []string{os.Getenv("PYTHON_EXEC"), "/usr/bin/python3", "python3"} {
		if python == "" {
			continue
		}
		out, err := exec.CommandContext(ctx, python, "-c", find).CombinedOutput()
		if err == nil {
			return python, nil
		}
		tried = append(tried, fmt.Errorf("%s: %w: %s", python, err, lastLine(out)))
	}
	return "", fmt.Errorf("no Python with PyTorch (apt-get install python3-torch): %w", errors.Join(tried...))
})

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

// runTorch runs a script for a job of so many ranks, whose agent serves s.
func runTorch(python string, s *Server, worldSize int, script string, arguments ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	host, port, err := net.SplitHostPort(s.Addr().String())
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, python, append([]string{script}, arguments...)...)
	cmd.Env = append(os.Environ(),
		"MASTER_ADDR="+host, "MASTER_PORT="+port,
		fmt.Sprint("WORLD_SIZE=", worldSize),
		"TORCHELASTIC_USE_AGENT_STORE=True", "TORCHELASTIC_RESTART_COUNT=0",
		"GLOO_SOCKET_IFNAME=lo", "OMP_NUM_THREADS=1",
	)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	return nil
}

// Four ranks of the real PyTorch find each other through the store, reduce
// and meet at barriers, with Gloo.
func TestGlooOverTheStore(t *testing.T) {
	python := torchPython(t)
	s, logs := serve(t, Limits{})
	if err := runTorch(python, s, 4, "testdata/gloo.py"); err != nil {
		t.Error(err)
	}
	for _, entry := range logs.All() {
		t.Errorf("the store said: %s %v", entry.Message, entry.ContextMap())
	}
	if connect(t, s, current).numKeys() == 0 {
		t.Error("nothing was stored: the ranks met elsewhere")
	}
}

// PyTorch's own client gets from this server what it gets from PyTorch's.
func TestPyTorchClient(t *testing.T) {
	python := torchPython(t)
	s, _ := serve(t, Limits{})
	if err := runTorch(python, s, 1, "testdata/client.py"); err != nil {
		t.Error(err)
	}
}

// The comparison with PyTorch's server, which one runs by hand, still runs.
func TestComparisonRuns(t *testing.T) {
	python := torchPython(t)
	s, _ := serve(t, Limits{})
	err := runTorch(python, s, 1, "../../scripts/store-bench.py", "--clients", "2", "--rounds", "1", "--calls", "20")
	if err != nil {
		t.Error(err)
	}
}
