// Package placement reads which of a job's machines this one is, and how they find each other:
// from what the user says, or else from what srun says of its step.
package placement

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/slurm"
	"gpurun/cmd/gpurun/sources"
	"gpurun/cmd/gpurun/trust"
	"gpurun/worker/process/torchenv"
)

// Placement is this machine's place among those of a job.
type Placement struct {
	Count, Rank int
	Addr        string // of node 0
	Port        int
	Trust       trust.Trust
	Wait        time.Duration // for the other nodes to come
	// Task is the place among several gpurun of the same machine; nil: it is alone.
	Task *torchenv.Task
}

// Several reports whether a job has more nodes than this one.
func (n Placement) Several() bool { return n.Count > 1 }

// LocalRank is the rank on this machine of a process of this gpurun.
func (n Placement) LocalRank(own int) int {
	if n.Task == nil {
		return own
	}
	return n.Task.LocalRank + own
}

// Read reads what the settings say about machines. step is what TakeStep has returned, or nil.
func Read(s *sources.Sources, c settings.Config, step *slurm.Step) (Placement, error) {
	n := Placement{
		Count: int(c.NNodes), Rank: c.NodeRank, Addr: strings.Trim(c.MasterAddr, "[]"), Port: c.MasterPort,
		Wait: time.Duration(c.JoinTimeout), Task: TaskOf(step),
	}
	switch {
	case n.Rank >= n.Count:
		return n, s.Blame("node-rank", fmt.Errorf("there is no node %d: --nnodes is %d, and the first is node 0", n.Rank, n.Count))
	case !n.Several():
		return n, nil
	}
	if slices.Contains([]string{"", "0.0.0.0", "::"}, n.Addr) {
		return n, s.Blame("master-addr", fmt.Errorf("%q is no address by which the other nodes reach node 0", c.MasterAddr))
	}
	var err error
	if n.Trust, err = trust.Read(s, c.Trust, n.Addr); err != nil {
		return n, err
	}
	return n, n.Trust.Check(n.Addr, step != nil)
}

// Refuse keeps a command that runs on one machine from what is for collectives on several. word
// is its name.
func Refuse(s *sources.Sources, c settings.Config, word string) error {
	key := "nnodes"
	if c.NNodes <= 1 {
		key = "node-rank"
	}
	if c.NNodes > 1 || c.NodeRank > 0 {
		return s.Blame(key, fmt.Errorf("gpurun's own collectives span machines, and %s is a command", word))
	}
	for _, name := range append(settings.TLSKeys(), "master-addr", "master-port", "rdzv-token-file", "join-timeout") {
		if s.Flagged(name) {
			return exit.Usagef("--%s is for collectives that span machines, and %s is a command on one", name, word)
		}
	}
	return nil
}
