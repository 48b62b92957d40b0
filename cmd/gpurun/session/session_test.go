package session

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/host"
	"gpurun/cmd/gpurun/node"
	"gpurun/cmd/gpurun/program"
	"gpurun/cmd/gpurun/settings"
	"gpurun/rendezvous/porttest"
	"gpurun/worker/result"
	"gpurun/worker/workload"
)

// Node 0 alone prints and writes, here of a job to which no other node comes.
func TestNodeZeroShows(t *testing.T) {
	port, err := porttest.Free()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("GITHUB_ACTIONS", "")
	for rank, shows := range []bool{true, false} {
		file := filepath.Join(t.TempDir(), "out.json")
		p := &Run{
			Config: settings.Config{Launch: settings.Launch{LogLevel: "error", LogFormat: "console"}, OutputFile: file},
			Job:    workload.Job{Collective: "allreduce", Timeout: 100 * time.Millisecond},
			Host:   host.Host{Backend: "cuda", Ranks: 1, GPUs: 1},
			Node:   node.Node{Count: 2, Rank: rank, Addr: "127.0.0.1", Port: port, Wait: 100 * time.Millisecond},
		}
		rendered := false
		err := p.Show(t.Context(), &program.Invocation{Out: io.Discard, Err: &bytes.Buffer{}},
			Show{Renderer: func(io.Writer) (result.Renderer, error) {
				rendered = true
				return silent{}, nil
			}})
		if exit.Code(err) != exit.Rendezvous {
			t.Errorf("node %d: %v, and nobody came", rank, err)
		}
		if _, err := os.Stat(file); (err == nil) != shows || rendered != shows {
			t.Errorf("node %d: rendered %t, file %v", rank, rendered, err)
		}
	}
}
