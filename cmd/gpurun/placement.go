package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"gpurun/cmd/gpurun/exit"
	"gpurun/rendezvous/transport"
	"gpurun/worker/agent"
)

// placement is this machine's place among those of a job.
type placement struct {
	count, rank int
	addr        string
	port        int
	trust       trust
	wait        time.Duration // for the other nodes to come
	// task is the place among several gpurun of the same machine; nil: it is alone.
	task *agent.Task
}

func (n placement) several() bool { return n.count > 1 }

// localRank is the rank on this machine of a process of this gpurun.
func (n placement) localRank(own int) int {
	if n.task == nil {
		return own
	}
	return n.task.LocalRank + own
}

// placement reads what the settings say about machines.
func (s *settings) placement(c config) (placement, error) {
	n := placement{
		count: int(c.NNodes), rank: c.NodeRank, addr: strings.Trim(c.MasterAddr, "[]"), port: c.MasterPort,
		wait: time.Duration(c.JoinTimeout), task: s.task(),
	}
	switch {
	case n.rank >= n.count:
		return n, s.blame("node-rank", fmt.Errorf("there is no node %d: --nnodes is %d, and the first is node 0", n.rank, n.count))
	case !n.several():
		return n, nil
	}
	if slices.Contains([]string{"", "0.0.0.0", "::"}, n.addr) {
		return n, s.blame("master-addr", fmt.Errorf("%q is no address by which the other nodes reach node 0", c.MasterAddr))
	}
	var err error
	if n.trust, err = s.trust(c.RdzvTokenFile, transport.TLSFiles{Cert: c.TLSCert, Key: c.TLSKey, CA: c.TLSCA, ServerName: n.addr}); err != nil {
		return n, err
	}
	return n, s.checkTrust(n.trust, n.addr)
}

// refuseNodes keeps commands, which run on one machine, from what is for
// collectives on several.
func (s *settings) refuseNodes(c config, word string) error {
	key := "nnodes"
	if c.NNodes <= 1 {
		key = "node-rank"
	}
	if c.NNodes > 1 || c.NodeRank > 0 {
		return s.blame(key, fmt.Errorf("gpurun's own collectives span machines, and %s is a command", word))
	}
	for _, name := range append(tlsKeys(), "master-addr", "master-port", "rdzv-token-file", "join-timeout") {
		if s.flags.Changed(name) {
			return exit.Usagef("--%s is for collectives that span machines, and %s is a command on one", name, word)
		}
	}
	return nil
}
