package agent

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"gpurun/worker/process/report"
)

func TestParseStat(t *testing.T) {
	tests := map[string]*process{
		"7 (sh) S 1 7 7 0 -1":             {pid: 7, parent: 1, group: 7},
		"8 (a) b (c)) Z 7 6 5 0":          {pid: 8, parent: 7, group: 6, zombie: true},
		"9 (new\nline) R 1 2 3":           {pid: 9, parent: 1, group: 2},
		"":                                nil,
		"7 sh S 1 7":                      nil,
		"7 )sh( S 1 7":                    nil,
		"7 (sh)":                          nil,
		"x (sh) S 1 7":                    nil,
		"7 (sh) S one 7":                  nil,
		"7 (sh) S 1 99999999999999999999": nil,
	}
	for text, want := range tests {
		got, err := parseStat(text)
		switch {
		case want == nil && err == nil:
			t.Errorf("%q: %+v, want an error", text, got)
		case want != nil && (err != nil || got != *want):
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add("7 (sh) S 1 7 7 0 -1")
	f.Add("7 (a (b) c) Z 1 7")
	f.Add(")(")
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := parseStat(text); err == nil && !strings.Contains(text, ")") {
			t.Errorf("%q was read", text)
		}
	})
}

func TestChildrenAreFoundBothWays(t *testing.T) {
	cmd := exec.Command("sleep", "60")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}()
	for name, list := range map[string]func() ([]int, error){"children": children, "childrenByParent": childrenByParent} {
		pids, err := list()
		if err != nil || !slices.Contains(pids, cmd.Process.Pid) {
			t.Errorf("%s: %v, %v, want %d in it", name, pids, err, cmd.Process.Pid)
		}
	}
	if groupsAlive([]int{cmd.Process.Pid}) {
		t.Error("a process that leads no group was taken for one that does")
	}
	if !groupsAlive([]int{syscall.Getpgrp()}) {
		t.Error("this test's own group was not found")
	}
}

func TestParseOOMKills(t *testing.T) {
	tests := map[string]int{
		"low 0\nhigh 0\nmax 3\noom 2\noom_kill 5\noom_group_kill 0\n": 5,
		"oom_kill 0":               0,
		"oom_group_kill 7":         -1,
		"oom_kill many":            -1,
		"not_oom_kill 1\n":         -1,
		"":                         -1,
		"nr_free 1\noom_kill 12\n": 12,
	}
	for text, want := range tests {
		got, ok := parseOOMKills(text)
		if ok != (want >= 0) || (ok && int(got) != want) {
			t.Errorf("%q: %d, %v", text, got, ok)
		}
	}
	file := filepath.Join(t.TempDir(), "memory.events")
	write := func(text string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("oom_kill 1\n")
	counter := oomCounter{file: file, count: 1}
	if counter.grown() {
		t.Error("grown without a kill")
	}
	write("oom_kill 2\n")
	if !counter.grown() {
		t.Error("not grown")
	}
}

func TestOOMIsSaid(t *testing.T) {
	f := &Failure{Rank: 1, PID: 2, Signal: syscall.SIGKILL, OOMKilled: true, Phase: "loading"}
	if diff := cmp.Diff("rank 1 (pid 2) was killed by SIGKILL because memory ran out while loading", f.Error()); diff != "" {
		t.Error(diff)
	}
}

func TestCommand(t *testing.T) {
	dir := t.TempDir()
	file := func(name string, mode fs.FileMode) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("#!/bin/sh\n"), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	script, tool, plain := file("train.py", 0o644), file("tool", 0o755), file("plain", 0o644)
	file("python3", 0o755)
	t.Setenv("PATH", dir)

	tests := map[string]struct {
		interpreter string
		words, want []string
		err         error
	}{
		"program":         {words: []string{tool, "-x"}, want: []string{tool, "-x"}},
		"program in PATH": {words: []string{"tool"}, want: []string{"tool"}},
		"script":          {words: []string{script, "--lr", "1"}, want: []string{"python3", "-u", script, "--lr", "1"}},
		"own interpreter": {interpreter: tool, words: []string{script}, want: []string{tool, "-u", script}},
		"no program":      {words: []string{"nothing"}, err: exec.ErrNotFound},
		"no such path":    {words: []string{"./nothing"}, err: fs.ErrNotExist},
		"not executable":  {words: []string{plain}, err: fs.ErrPermission},
		"no script":       {words: []string{"nothing.py"}, err: fs.ErrNotExist},
		"no interpreter":  {interpreter: "snake", words: []string{script}, err: exec.ErrNotFound},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PYTHON_EXEC", test.interpreter)
			got, err := Command(test.words)
			var notFound *NotFound
			if test.err != nil && (!errors.As(err, &notFound) || !errors.Is(err, test.err)) {
				t.Fatalf("got %v, want %v", err, test.err)
			}
			if test.err == nil && err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if _, err := Command(nil); err == nil {
		t.Error("no words: no error")
	}
	if _, err := Command([]string{dir + "/x.py"}); err == nil || strings.Count(err.Error(), "x.py") != 1 {
		t.Errorf("the name stands there once: %v", err)
	}
}

func TestTorchEnv(t *testing.T) {
	for _, name := range []string{"OMP_NUM_THREADS", "TORCH_NCCL_ASYNC_ERROR_HANDLING"} {
		t.Setenv(name, "") // so that it is restored
		os.Unsetenv(name)
	}
	core, logs := observer.New(zap.InfoLevel)
	job := TorchJob{
		Workers: 4, FirstRank: 8, WorldSize: 16, GroupRank: 2, GroupSize: 4, Role: "default",
		RunID: "none", MasterAddr: "127.0.0.1", MasterPort: 29500, RestartCount: 1, MaxRestarts: 3,
	}
	got := TorchEnv(job, zap.New(core))(3)
	want := []string{
		"LOCAL_RANK=3", "RANK=11", "ROLE_RANK=11", "GROUP_RANK=2", "ROLE_NAME=default", "LOCAL_WORLD_SIZE=4",
		"WORLD_SIZE=16", "GROUP_WORLD_SIZE=4", "ROLE_WORLD_SIZE=16", "MASTER_ADDR=127.0.0.1", "MASTER_PORT=29500",
		"TORCHELASTIC_RESTART_COUNT=1", "TORCHELASTIC_MAX_RESTARTS=3", "TORCHELASTIC_RUN_ID=none",
		"TORCHELASTIC_USE_AGENT_STORE=False", "TORCH_NCCL_ASYNC_ERROR_HANDLING=1", "OMP_NUM_THREADS=1",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if logs.Len() != 1 {
		t.Errorf("%d notices, want 1", logs.Len())
	}

	os.Setenv("OMP_NUM_THREADS", "8")
	os.Setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "3")
	if diff := cmp.Diff(want[:15], TorchEnv(job, zap.New(core))(3)); diff != "" {
		t.Error(diff)
	}
	os.Unsetenv("OMP_NUM_THREADS")
	job.Workers = 1
	if env := TorchEnv(job, zap.New(core))(0); slices.Contains(env, "OMP_NUM_THREADS=1") || logs.Len() != 1 {
		t.Errorf("a single worker got %v", env)
	}
}

// A worker whose node's other workers have agents of their own finds the node's
// variables all the same.
func TestTorchEnvOfATask(t *testing.T) {
	t.Setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1")
	t.Setenv("CUDA_VISIBLE_DEVICES", "4,5,6,7")
	job := TorchJob{
		Workers: 1, FirstRank: 6, WorldSize: 8, GroupRank: 6, GroupSize: 8, Role: "default",
		RunID: "none", MasterAddr: "n1", MasterPort: 29500,
		Task: &Task{LocalRank: 2, LocalWorldSize: 4, Node: 1, Nodes: 2},
	}
	want := []string{
		"LOCAL_RANK=2", "RANK=6", "ROLE_RANK=6", "GROUP_RANK=1", "ROLE_NAME=default", "LOCAL_WORLD_SIZE=4",
		"WORLD_SIZE=8", "GROUP_WORLD_SIZE=2", "ROLE_WORLD_SIZE=8",
	}
	if diff := cmp.Diff(want, TorchEnv(job, zap.NewNop())(2)[:len(want)]); diff != "" {
		t.Error(diff)
	}
	job.VirtualLocalRank = true
	if diff := cmp.Diff([]string{"LOCAL_RANK=0", "CUDA_VISIBLE_DEVICES=6"}, TorchEnv(job, zap.NewNop())(2)[:2]); diff != "" {
		t.Error(diff)
	}
	t.Setenv("CUDA_VISIBLE_DEVICES", "3") // it has been given its own GPU alone
	if diff := cmp.Diff([]string{"LOCAL_RANK=0", "CUDA_VISIBLE_DEVICES=3"}, TorchEnv(job, zap.NewNop())(2)[:2]); diff != "" {
		t.Error(diff)
	}
}

func TestCatch(t *testing.T) {
	ctx, signals, stop := Catch(t.Context())
	defer stop()
	for _, s := range []syscall.Signal{syscall.SIGUSR1, syscall.SIGTERM} {
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
		select {
		case got := <-signals:
			if got != s {
				t.Errorf("got %v, want %v", got, s)
			}
		case <-time.After(patience):
			t.Fatalf("%v was not caught", s)
		}
		if ended := ctx.Err() != nil; ended != (s == syscall.SIGTERM) {
			t.Errorf("after %v the context has ended: %v", s, ended)
		}
	}
	var signalled Signalled
	if !errors.As(context.Cause(ctx), &signalled) || signalled.Error() != "received SIGTERM" {
		t.Errorf("the cause is %v", context.Cause(ctx))
	}
}

func TestFailureDoesNotRepeatItsPhase(t *testing.T) {
	for message, want := range map[string]string{
		"joining: joining: refused":  "refused",
		"joining at HOST: no answer": "at HOST: no answer",
		"rejoining: no answer":       "rejoining: no answer",
	} {
		f := Failure{Rank: 1, PID: 2, Phase: "joining", Report: &report.Failure{Message: message}}
		if got, want := f.Error(), "rank 1 (pid 2) failed while joining: "+want; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
