// Package torchenv makes the environment variables that torchrun sets for its workers.
package torchenv

import (
	"os"
	"strconv"
	"strings"

	"go.uber.org/zap"
)

// Job is what the variables tell a worker about its job.
type Job struct {
	Workers    int // on this node
	FirstRank  int // of this node's workers
	WorldSize  int // workers on all nodes
	GroupRank  int // of this node
	GroupSize  int // number of nodes
	Role       string
	RunID      string
	MasterAddr string
	MasterPort int
	// FirstRoleRank and RoleWorldSize count the workers of the same role. A size of 0
	// means that all workers have it.
	FirstRoleRank, RoleWorldSize int
	// AgentStore says that an agent serves a store at MasterPort; else the worker
	// with rank 0 does.
	AgentStore bool

	RestartCount, MaxRestarts int

	// VirtualLocalRank gives every worker LOCAL_RANK 0, and its own GPU as the only one
	// in CUDA_VISIBLE_DEVICES.
	VirtualLocalRank bool
	// Task is set where another program, such as srun, starts an agent for each worker of
	// a node; nil: this agent starts all workers of the node.
	Task *Task
}

// Task is the place of an agent's only worker among all workers of its node.
type Task struct {
	LocalRank, LocalWorldSize int
	Node, Nodes               int // its node, and how many there are
}

// FirstLocalRank is the local rank of the agent's first worker.
func (job Job) FirstLocalRank() int {
	if job.Task == nil {
		return 0
	}
	return job.Task.LocalRank
}

// Variables returns the variables of each worker, as NAME=VALUE. Like torchrun it keeps a
// TORCH_NCCL_ASYNC_ERROR_HANDLING that is inherited. It sets OMP_NUM_THREADS=1
// for several workers unless that is inherited, and says so in the log.
func Variables(job Job, logger *zap.Logger) func(localRank int) []string {
	if job.RoleWorldSize == 0 {
		job.FirstRoleRank, job.RoleWorldSize = job.FirstRank, job.WorldSize
	}
	localWorldSize := job.Workers
	if t := job.Task; t != nil {
		localWorldSize = t.LocalWorldSize
		job.GroupRank, job.GroupSize = t.Node, t.Nodes
	}
	common := []string{
		"GROUP_RANK=" + strconv.Itoa(job.GroupRank),
		"ROLE_NAME=" + job.Role,
		"LOCAL_WORLD_SIZE=" + strconv.Itoa(localWorldSize),
		"WORLD_SIZE=" + strconv.Itoa(job.WorldSize),
		"GROUP_WORLD_SIZE=" + strconv.Itoa(job.GroupSize),
		"ROLE_WORLD_SIZE=" + strconv.Itoa(job.RoleWorldSize),
		"MASTER_ADDR=" + job.MasterAddr,
		"MASTER_PORT=" + strconv.Itoa(job.MasterPort),
		"TORCHELASTIC_RESTART_COUNT=" + strconv.Itoa(job.RestartCount),
		"TORCHELASTIC_MAX_RESTARTS=" + strconv.Itoa(job.MaxRestarts),
		"TORCHELASTIC_RUN_ID=" + job.RunID,
		"TORCHELASTIC_USE_AGENT_STORE=" + pythonBool(job.AgentStore),
	}
	if _, inherited := os.LookupEnv("TORCH_NCCL_ASYNC_ERROR_HANDLING"); !inherited {
		common = append(common, "TORCH_NCCL_ASYNC_ERROR_HANDLING=1")
	}
	if _, inherited := os.LookupEnv("OMP_NUM_THREADS"); !inherited && job.Workers > 1 {
		logger.Info("setting OMP_NUM_THREADS=1 for every worker, so that they do not overload the CPUs; " +
			"set it yourself to tune it")
		common = append(common, "OMP_NUM_THREADS=1")
	}
	return func(localRank int) []string {
		worker := localRank - job.FirstLocalRank()
		own := []string{"RANK=" + strconv.Itoa(job.FirstRank+worker), "ROLE_RANK=" + strconv.Itoa(job.FirstRoleRank+worker)}
		return append(job.localRank(localRank), append(own, common...)...)
	}
}

// localRank returns the variables by which a worker chooses its GPU.
func (job Job) localRank(localRank int) []string {
	if !job.VirtualLocalRank {
		return []string{"LOCAL_RANK=" + strconv.Itoa(localRank)}
	}
	gpu := strconv.Itoa(localRank)
	if visible := os.Getenv("CUDA_VISIBLE_DEVICES"); visible != "" {
		gpus := strings.Split(visible, ",")
		// An agent with one worker may have been given that worker's GPU alone.
		gpu = strings.TrimSpace(gpus[localRank%len(gpus)])
	}
	return []string{"LOCAL_RANK=0", "CUDA_VISIBLE_DEVICES=" + gpu}
}

// pythonBool writes a bool as Python does: PyTorch compares the variable with "True".
func pythonBool(b bool) string {
	if b {
		return "True"
	}
	return "False"
}
