package tcpstore

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkAgainstPyTorch measures this server and PyTorch's own, in turns,
// with PyTorch's client in a process of its own. It reports the median of the
// rounds; run it with -benchtime 5x.
func BenchmarkAgainstPyTorch(b *testing.B) {
	python := torchPython(b)
	s, _ := serve(b, Limits{})
	servers := []struct{ name, address string }{
		{"gpurun", s.Addr().String()},
		{"torch", serveTorch(b, python)},
	}
	for _, clients := range []int{1, 64} {
		b.Run(fmt.Sprint("clients=", clients), func(b *testing.B) {
			results := map[string][]float64{}
			for b.Loop() {
				for _, server := range servers {
					for _, r := range measure(b, python, server.address, clients) {
						results[r.Operation+"/s-"+server.name] = append(results[r.Operation+"/s-"+server.name], r.PerSecond)
						results[r.Operation+"-us-"+server.name] = append(results[r.Operation+"-us-"+server.name], r.MedianUS)
						results[r.Operation+"-p99-us-"+server.name] = append(results[r.Operation+"-p99-us-"+server.name], r.P99US)
					}
				}
			}
			b.ReportMetric(0, "ns/op") // of the whole round: of no interest
			for name, values := range results {
				slices.Sort(values)
				b.ReportMetric(values[len(values)/2], name)
			}
		})
	}
}

type measurement struct {
	Operation string  `json:"operation"`
	PerSecond float64 `json:"per_second"`
	MedianUS  float64 `json:"median_us"`
	P99US     float64 `json:"p99_us"`
}

func measure(b *testing.B, python, address string, clients int) []measurement {
	b.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, python, "testdata/bench.py", address, fmt.Sprint(clients), "16000").Output()
	if err != nil {
		b.Fatal(err)
	}
	var all []measurement
	for line := range strings.Lines(string(out)) {
		var m measurement
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			b.Fatalf("%q: %v", line, err)
		}
		all = append(all, m)
	}
	return all
}

// serveTorch starts PyTorch's own server and returns its address.
func serveTorch(b *testing.B, python string) string {
	b.Helper()
	cmd := exec.Command(python, "testdata/bench.py", "serve")
	stdin, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		_ = stdin.Close() // the server ends with it
		_ = cmd.Wait()
	})
	port, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		b.Fatalf("starting PyTorch's server: %v", err)
	}
	return "127.0.0.1:" + strings.TrimSpace(port)
}
