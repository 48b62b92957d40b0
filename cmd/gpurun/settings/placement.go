package settings

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gpurun/cmd/gpurun/exit"
	"gpurun/worker/agent"
)

// Placement is this machine's place among those of a job.
type Placement struct {
	Count, Rank int
	Addr        string // of node 0
	Port        int
	Trust       Trust
	Wait        time.Duration // for the other nodes to come
	// Task is the place among several gpurun of the same machine; nil: it is alone.
	Task *agent.Task
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

// Placement reads what the settings say about machines.
func (s *Sources) Placement(c Config) (Placement, error) {
	n := Placement{
		Count: int(c.NNodes), Rank: c.NodeRank, Addr: strings.Trim(c.MasterAddr, "[]"), Port: c.MasterPort,
		Wait: time.Duration(c.JoinTimeout), Task: s.Task(),
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
	if n.Trust, err = s.Trust(c.Trust, n.Addr); err != nil {
		return n, err
	}
	return n, s.CheckTrust(n.Trust, n.Addr)
}

// RefuseNodes keeps commands, which run on one machine, from what is for
// collectives on several.
func (s *Sources) RefuseNodes(c Config, word string) error {
	key := "nnodes"
	if c.NNodes <= 1 {
		key = "node-rank"
	}
	if c.NNodes > 1 || c.NodeRank > 0 {
		return s.Blame(key, fmt.Errorf("gpurun's own collectives span machines, and %s is a command", word))
	}
	for _, name := range append(tlsKeys(), "master-addr", "master-port", "rdzv-token-file", "join-timeout") {
		if s.flags.Changed(name) {
			return exit.Usagef("--%s is for collectives that span machines, and %s is a command on one", name, word)
		}
	}
	return nil
}
