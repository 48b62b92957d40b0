package collect

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"gpurun/worker/process/dump"
	"gpurun/worker/process/procfs"
)

// recorder is a process with a flight recorder: it answers requests in its pipe by a file, in two steps.
func recorder(t *testing.T, f *Flight, rank string, answers bool) {
	t.Helper()
	pipe := f.PipeStem + rank + ".pipe"
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := os.OpenFile(pipe, os.O_RDWR, 0) // with a writer of its own, the pipe does not end
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { file.Close() })
	go func() {
		if _, err := file.Read(make([]byte, 10)); err != nil || !answers {
			return
		}
		for _, text := range []string{"half", "whole"} {
			time.Sleep(50 * time.Millisecond)
			_ = os.WriteFile(f.FileStem+rank, []byte(text), 0o600)
		}
	}()
}

// readWhole reads what recorder has written.
func readWhole(r io.Reader) ([]dump.Collective, error) {
	text, err := io.ReadAll(r)
	if err != nil || string(text) != "whole" {
		return nil, errors.New("the end is missing")
	}
	return []dump.Collective{{Operation: "ALLREDUCE", Sequence: 812}}, nil
}

func TestFlight(t *testing.T) {
	t.Parallel()
	f, variables := NewFlight(t.TempDir(), t.TempDir(), readWhole, func(string) (string, bool) { return "", false })
	if len(variables) != 3 || !slices.Contains(variables, "TORCH_FR_BUFFER_SIZE=2000") {
		t.Errorf("variables: %q", variables)
	}
	recorder(t, f, "0", true)
	recorder(t, f, "1", false)
	if err := syscall.Mkfifo(f.PipeStem+"2.pipe", 0o600); err != nil { // its process has ended
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	for rank, missing := range []string{"", "no dump in", "no process reads its pipe", ""} {
		var r dump.Rank
		f.read(ctx, rank)(&r)
		if text := strings.Join(r.Missing, ""); missing == "" && text != "" || !strings.Contains(text, missing) {
			t.Errorf("rank %d: missing %q, want %q", rank, text, missing)
		}
		if recorded := rank == 0; recorded != (len(r.Collectives) == 1) {
			t.Errorf("rank %d: %+v", rank, r.Collectives)
		}
	}
}

func TestFlightByTheUsersVariables(t *testing.T) {
	t.Parallel()
	set := map[string]string{
		"TORCH_NCCL_DEBUG_INFO_PIPE_FILE": "/p", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": "/f", "TORCH_NCCL_TRACE_BUFFER_SIZE": "9",
	}
	f, variables := NewFlight("/folder", "/folder", nil, func(name string) (string, bool) {
		value, ok := set[name]
		return value, ok
	})
	if f.PipeStem != "/p" || f.FileStem != "/f" || len(variables) > 0 {
		t.Errorf("%+v, variables %q", f, variables)
	}
}

// serveRAS answers one client as NCCL does, and returns the address.
func serveRAS(t *testing.T, status string) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			switch line := lines.Text(); {
			case strings.HasPrefix(line, "CLIENT PROTOCOL"):
				_, _ = io.WriteString(conn, "SERVER PROTOCOL 2\n")
			case line == "VERBOSE STATUS":
				_, _ = io.WriteString(conn, status)
				return
			default:
				_, _ = io.WriteString(conn, "OK\n")
			}
		}
	}()
	return l.Addr().String()
}

func TestRAS(t *testing.T) {
	t.Parallel()
	status := func(pid int) string {
		return `{"nccl_version":"2.28.3","communicators":[{"hash":"1","secondary_hash":"2","size":1,` +
			`"ranks":[{"rank":0,"pid":` + strconv.Itoa(pid) + `,"collective_counts":{"AllReduce":3}}]}]}` + "\n"
	}
	onGPU := func() []dump.Rank {
		return []dump.Rank{{Rank: 0}, {Rank: 1, GPU: &dump.GPU{}, Processes: []dump.Process{{PID: 7}}}}
	}
	for name, test := range map[string]struct {
		ranks         []dump.Rank
		status        string
		communicators int
		missing       string
	}{
		"its own":     {onGPU(), status(7), 1, ""},
		"another job": {onGPU(), status(8), 0, "another job"},
		"no JSON":     {onGPU(), "NCCL version 2.24\n", 0, "JSON"},
		"no GPU":      {[]dump.Rank{{Rank: 0}, {Rank: 1}}, status(7), 0, ""},
	} {
		c := &Collector{RAS: serveRAS(t, test.status)}
		c.addRAS(t.Context(), test.ranks)
		r := test.ranks[1]
		text := strings.Join(r.Missing, "")
		if len(r.Communicators) != test.communicators || (test.missing == "") != (text == "") ||
			!strings.Contains(text, test.missing) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

func TestGPUs(t *testing.T) {
	t.Parallel()
	pids := []procfs.Process{{PID: 7}, {PID: 8}}
	gpus := []dump.GPU{{Index: 0, Processes: []int{6}}, {Index: 1, Processes: []int{8}}}
	var r dump.Rank
	(&Collector{GPUs: func() ([]dump.GPU, error) { return gpus, nil }}).listGPUs().of(t.Context(), pids)(&r)
	if r.GPU == nil || r.GPU.Index != 1 {
		t.Errorf("%+v", r.GPU)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	hung := make(chan struct{})
	defer close(hung)
	r = dump.Rank{}
	(&Collector{GPUs: func() ([]dump.GPU, error) { <-hung; return nil, nil }}).listGPUs().of(ctx, pids)(&r)
	if len(r.Missing) != 1 || !strings.Contains(r.Missing[0], "driver did not answer") {
		t.Errorf("missing %q", r.Missing)
	}
}

// A program named py-spy stands in for py-spy. It exits with an error, as for a process that has ended meanwhile.
func TestPySpy(t *testing.T) {
	folder := t.TempDir()
	const text = `#!/bin/sh
test "$*" = "dump --nonblocking --json --pid 7" &&
	echo '[{"pid":7,"os_thread_id":7,"thread_name":"MainThread","frames":[{"name":"f","filename":"a.py","line":3}]}]'
test $5 = 7 || echo 'Error: Failed to get process executable' >&2
exit 1
`
	if err := os.WriteFile(filepath.Join(folder, "py-spy"), []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", folder+":"+os.Getenv("PATH"))
	if threads, err := pySpy(t.Context(), 7); err != nil || len(threads) != 1 || threads[0].Python[0].Line != 3 {
		t.Errorf("%+v, %v", threads, err)
	}
	if _, err := pySpy(t.Context(), 8); err == nil || !strings.Contains(err.Error(), "Failed to get process executable") {
		t.Errorf("error %v", err)
	}
}
