package session

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/host"
	"gpurun/rendezvous/transport"
	"gpurun/worker/workload"
)

// assignmentVariable names the environment variable by which the agent tells
// a worker what to do: an assignment as JSON.
const assignmentVariable = "GPURUN_ASSIGNMENT"

// assignment is one worker's part.
type assignment struct {
	Job       workload.Job `json:"job"`
	Rank      int          `json:"rank"`
	LocalRank int          `json:"local_rank"`
	WorldSize int          `json:"world_size"`
	// LocalWorldSize is the number of ranks on this machine.
	LocalWorldSize int    `json:"local_world_size"`
	Target         string `json:"target"` // of the rendezvous
	Token          string `json:"token"`
	// TLS is what the rendezvous of several machines wants, if it wants TLS.
	TLS      *transport.TLSFiles `json:"tls,omitempty"`
	Backend  string              `json:"backend"`
	Ordinal  int                 `json:"ordinal"`
	Sim      host.SimOptions     `json:"sim"`
	LogLevel string              `json:"log_level"`
	Timing   bool                `json:"timing,omitempty"`
	// KernelFiles: those of the job are in the memory at kernelsDescriptor.
	KernelFiles bool `json:"kernel_files,omitempty"`
}

// assign writes every worker's assignment as an environment variable.
func (p *Run) assign(where *meeting) ([]string, error) {
	variables := make([]string, p.Host.Ranks)
	job := p.Job
	job.KernelFiles = nil // they may be long
	for localRank := range variables {
		rank := p.firstRank() + localRank
		text, err := json.Marshal(assignment{
			Job: job, Rank: rank, LocalRank: localRank, WorldSize: p.World(), LocalWorldSize: p.Host.Ranks,
			Target: where.target, Token: where.token, TLS: p.Node.Credentials.TLS.Files(),
			Backend: p.Host.Backend, Ordinal: p.Host.Ordinal(p.Node.LocalRank(localRank)), Sim: host.Simulator(p.Config),
			LogLevel: p.Config.LogLevel, Timing: p.Config.Timing, KernelFiles: len(p.Job.KernelFiles) > 0,
		})
		if err != nil {
			return nil, fmt.Errorf("writing the assignment of rank %d: %w", rank, err)
		}
		variables[localRank] = assignmentVariable + "=" + string(text)
	}
	return variables, nil
}

// takeAssignment reads the variable and removes it, so that no child sees it.
func takeAssignment() (assignment, error) {
	text, ok := os.LookupEnv(assignmentVariable)
	if !ok {
		return assignment{}, exit.Usagef("%s is not set: gpurun starts its workers itself", assignmentVariable)
	}
	var part assignment
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&part); err != nil {
		return part, exit.Usagef("reading %s: %w", assignmentVariable, err)
	}
	return part, os.Unsetenv(assignmentVariable)
}

// tls is how a worker meets the ranks of other machines: with its node's files.
func (a assignment) tls() (*transport.TLS, error) {
	if a.TLS == nil {
		return nil, nil
	}
	t, err := transport.LoadTLS(*a.TLS)
	if err != nil {
		return nil, fmt.Errorf("TLS between nodes: %w", err)
	}
	return t, nil
}
