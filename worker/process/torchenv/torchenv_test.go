package torchenv

import (
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

func TestVariables(t *testing.T) {
	for _, name := range []string{"OMP_NUM_THREADS", "TORCH_NCCL_ASYNC_ERROR_HANDLING"} {
		t.Setenv(name, "") // so that it is restored
		os.Unsetenv(name)
	}
	core, logs := observer.New(zap.InfoLevel)
	job := Job{
		Workers: 4, FirstRank: 8, WorldSize: 16, GroupRank: 2, GroupSize: 4, Role: "default",
		RunID: "none", MasterAddr: "127.0.0.1", MasterPort: 29500, RestartCount: 1, MaxRestarts: 3,
	}
	got := Variables(job, zap.New(core))(3)
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
	if diff := cmp.Diff(want[:15], Variables(job, zap.New(core))(3)); diff != "" {
		t.Error(diff)
	}
	os.Unsetenv("OMP_NUM_THREADS")
	job.Workers = 1
	if env := Variables(job, zap.New(core))(0); slices.Contains(env, "OMP_NUM_THREADS=1") || logs.Len() != 1 {
		t.Errorf("a single worker got %v", env)
	}
}

// A worker gets its node's variables even where each of the node's workers has an agent
// of its own.
func TestVariablesOfATask(t *testing.T) {
	t.Setenv("TORCH_NCCL_ASYNC_ERROR_HANDLING", "1")
	t.Setenv("CUDA_VISIBLE_DEVICES", "4,5,6,7")
	job := Job{
		Workers: 1, FirstRank: 6, WorldSize: 8, GroupRank: 6, GroupSize: 8, Role: "default",
		RunID: "none", MasterAddr: "n1", MasterPort: 29500,
		Task: &Task{LocalRank: 2, LocalWorldSize: 4, Node: 1, Nodes: 2},
	}
	want := []string{
		"LOCAL_RANK=2", "RANK=6", "ROLE_RANK=6", "GROUP_RANK=1", "ROLE_NAME=default", "LOCAL_WORLD_SIZE=4",
		"WORLD_SIZE=8", "GROUP_WORLD_SIZE=2", "ROLE_WORLD_SIZE=8",
	}
	if diff := cmp.Diff(want, Variables(job, zap.NewNop())(2)[:len(want)]); diff != "" {
		t.Error(diff)
	}
	job.VirtualLocalRank = true
	if diff := cmp.Diff([]string{"LOCAL_RANK=0", "CUDA_VISIBLE_DEVICES=6"},
		Variables(job, zap.NewNop())(2)[:2]); diff != "" {
		t.Error(diff)
	}
	t.Setenv("CUDA_VISIBLE_DEVICES", "3") // it has been given its own GPU alone
	if diff := cmp.Diff([]string{"LOCAL_RANK=0", "CUDA_VISIBLE_DEVICES=3"},
		Variables(job, zap.NewNop())(2)[:2]); diff != "" {
		t.Error(diff)
	}
}
