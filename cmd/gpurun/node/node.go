// Package node reads which of a job's machines this one is, and how the machines find and trust
// each other: by flags and settings, or else by the Slurm step in which srun started gpurun.
package node

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/settings"
	"gpurun/cmd/gpurun/slurm"
	"gpurun/worker/process/torchenv"
)

// Node is this machine's place among those of a job.
type Node struct {
	Count, Rank int
	Addr        string // of node 0
	Port        int
	Credentials Credentials
	Wait        time.Duration // for the other nodes to come
	// Task is the place among several gpurun of the same machine; nil: it is alone.
	Task *torchenv.Task
}

// Several reports whether a job has more nodes than this one.
func (n Node) Several() bool { return n.Count > 1 }

// LocalRank is the rank on this machine of a process of this gpurun.
func (n Node) LocalRank(own int) int {
	if n.Task == nil {
		return own
	}
	return n.Task.LocalRank + own
}

// Read reads what the settings say about machines. step is what ApplySlurmStep has returned, or nil.
func Read(s *settings.Sources, c settings.Config, step *slurm.Step) (Node, error) {
	n := Node{
		Count: int(c.NNodes), Rank: c.NodeRank, Addr: strings.Trim(c.MasterAddr, "[]"), Port: c.MasterPort,
		Wait: time.Duration(c.JoinTimeout), Task: TaskOf(step),
	}
	switch {
	case n.Rank >= n.Count:
		return n, s.Invalid("node-rank",
			fmt.Errorf("node %d does not exist: --nnodes is %d, and nodes count from 0", n.Rank, n.Count))
	case !n.Several():
		return n, nil
	}
	if slices.Contains([]string{"", "0.0.0.0", "::"}, n.Addr) {
		return n, s.Invalid("master-addr",
			fmt.Errorf("%q is not an address at which other nodes can reach node 0", c.MasterAddr))
	}
	var err error
	if n.Credentials, err = ReadCredentials(s, c.Credentials, n.Addr); err != nil {
		return n, err
	}
	return n, n.Credentials.Check(n.Addr, step != nil)
}

// RefuseSeveral keeps a command that runs on one machine from what is for collectives on several. word
// is its name.
func RefuseSeveral(s *settings.Sources, c settings.Config, word string) error {
	key := "nnodes"
	if c.NNodes <= 1 {
		key = "node-rank"
	}
	if c.NNodes > 1 || c.NodeRank > 0 {
		return s.Invalid(key, fmt.Errorf("gpurun %s runs on one machine, and only collectives run on several", word))
	}
	for _, name := range append(settings.TLSKeys(), "master-addr", "master-port", "rdzv-token-file", "join-timeout") {
		if s.Flagged(name) {
			return exit.Usagef("--%s applies to collectives on several machines, not to gpurun %s", name, word)
		}
	}
	return nil
}
