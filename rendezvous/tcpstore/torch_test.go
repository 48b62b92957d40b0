package tcpstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// torchPython is a Python that can import torch. Without one the test is
// skipped, except where GPURUN_REQUIRE_TORCH=1 says that there is one.
func torchPython(t testing.TB) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	var tried []error
	for _, python := range []string{os.Getenv("PYTHON_EXEC"), "/usr/bin/python3", "python3"} {
		if python == "" {
			continue
		}
		out, err := exec.CommandContext(ctx, python, "-c", "import torch.distributed").CombinedOutput()
		if err == nil {
			return python
		}
		tried = append(tried, fmt.Errorf("%s: %w: %s", python, err, lastLine(out)))
	}
	message := fmt.Sprintf("no Python with PyTorch (apt-get install python3-torch): %v", errors.Join(tried...))
	if os.Getenv("GPURUN_REQUIRE_TORCH") == "1" {
		t.Fatal(message)
	}
	t.Skip(message)
	return ""
}

func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return lines[len(lines)-1]
}

// runTorch runs a script as a rank of a job whose agent serves s.
func runTorch(python string, s *Server, rank, worldSize int, script string, arguments ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	host, port, err := net.SplitHostPort(s.Addr().String())
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, python, append([]string{script}, arguments...)...)
	cmd.Env = append(os.Environ(),
		"MASTER_ADDR="+host, "MASTER_PORT="+port,
		fmt.Sprint("RANK=", rank), fmt.Sprint("WORLD_SIZE=", worldSize),
		"TORCHELASTIC_USE_AGENT_STORE=True", "TORCHELASTIC_RESTART_COUNT=0",
		"GLOO_SOCKET_IFNAME=lo", "OMP_NUM_THREADS=1",
	)
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("rank %d: %w\n%s", rank, err, out)
	}
	return nil
}

// Four ranks of the real PyTorch find each other through the store, reduce
// and meet at barriers, with Gloo.
func TestGlooOverTheStore(t *testing.T) {
	python := torchPython(t)
	s, logs := serve(t, Limits{})
	const worldSize = 4
	var ranks errgroup.Group
	for rank := range worldSize {
		ranks.Go(func() error { return runTorch(python, s, rank, worldSize, "testdata/gloo.py") })
	}
	if err := ranks.Wait(); err != nil {
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
	if err := runTorch(python, s, 0, 1, "testdata/client.py"); err != nil {
		t.Error(err)
	}
}

// The comparison with PyTorch's server, which one runs by hand, still runs.
func TestComparisonRuns(t *testing.T) {
	python := torchPython(t)
	s, _ := serve(t, Limits{})
	if err := runTorch(python, s, 0, 1, "../../scripts/store-bench.py", "--clients", "2", "--rounds", "1", "--calls",
		"20"); err != nil {
		t.Error(err)
	}
}
