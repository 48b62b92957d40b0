package main

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"gpurun/cmd/gpurun/exit"
	"gpurun/rendezvous/transport"
	"gpurun/worker/agent"
	"gpurun/worker/nodes"
)

// tokenVariable has the secret of a job across machines. It is no flag, because
// everybody on a machine can read the others' command lines.
const tokenVariable = "GPURUN_RDZV_TOKEN"

// placement is this machine's place among those of a job.
type placement struct {
	count, rank int
	addr        string
	port        int
	token       string
	tls         *transport.TLS
	wait        time.Duration // for the other nodes to come
	// problem is why this machine cannot take part; the other nodes are told.
	problem error
	// task is the place among several gpurun of the same machine; nil: it is alone.
	task *agent.Task
}

func (n placement) several() bool { return n.count > 1 }

// world is the number of ranks on all machines.
func (p *collectiveRun) world() int { return p.machine.ranks * max(p.nodes.count, 1) }

// firstRank is this machine's first rank.
func (p *collectiveRun) firstRank() int { return p.machine.ranks * p.nodes.rank }

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
	if n.token, err = s.token(c); err != nil {
		return n, err
	}
	files := transport.TLSFiles{Cert: c.TLSCert, Key: c.TLSKey, CA: c.TLSCA, ServerName: n.addr}
	if n.tls, err = s.tls(files); err != nil {
		return n, err
	}
	if n.token == "" && n.tls == nil && !nodes.Loopback(n.addr) {
		return n, s.noSecret(n.addr)
	}
	return n, nil
}

// noSecret says how nodes that meet at an address beyond loopback get a secret.
func (s *settings) noSecret(addr string) error {
	if s.slurmStep != nil {
		return exit.Usagef("nodes that meet at %s need a secret in common: put \"export %s=$(openssl rand -hex 32)\" before srun, which hands it to all of them, "+
			"or give --rdzv-token-file FILE in a folder that they share", addr, tokenVariable)
	}
	return exit.Usagef("nodes that meet at %s need a secret in common: run \"openssl rand -hex 32 > FILE\" once, copy FILE to all nodes, "+
		"and give --rdzv-token-file FILE, or set %s; or give all certificates, by --tls-cert, --tls-key and --tls-ca", addr, tokenVariable)
}

// A token is long enough not to be guessed, and short enough for a header.
const (
	leastToken = 16
	mostToken  = 4096
)

// token reads the secret, from the file if there is one; it may be empty. No
// message repeats it.
func (s *settings) token(c config) (string, error) {
	text, source := os.Getenv(tokenVariable), tokenVariable
	if c.RdzvTokenFile != "" {
		data, err := readRegular(c.RdzvTokenFile, mostToken)
		if err != nil {
			return "", s.blame("rdzv-token-file", err)
		}
		text, source = string(data), c.RdzvTokenFile
		if strings.TrimSpace(text) == "" {
			return "", exit.Usagef("%s is empty: \"openssl rand -hex 32\" makes a secret", source)
		}
	}
	token := strings.TrimSpace(text)
	printable := !strings.ContainsFunc(token, func(c rune) bool { return c <= ' ' || c > '~' })
	if token != "" && (len(token) < leastToken || len(token) > mostToken || !printable) {
		return "", exit.Usagef("%s holds no secret of %d to %d letters, digits and signs in one line: \"openssl rand -hex 32\" makes one",
			source, leastToken, mostToken)
	}
	return token, nil
}

// forgetToken takes the secret out of the environment: workers have no use for it,
// and programs show their environment in many places.
func forgetToken() error {
	if err := os.Unsetenv(tokenVariable); err != nil {
		return fmt.Errorf("forgetting %s: %w", tokenVariable, err)
	}
	return nil
}

// unfit notes that this machine cannot take part in a job across machines, given
// what came of looking for its devices: then the nodes meet all the same, so that
// none waits in vain. A slip of the user's is returned.
func (p *collectiveRun) unfit(err error) error {
	var lacking *exit.EnvironmentError
	switch {
	case errors.As(err, &lacking):
		p.nodes.problem = lacking
	case err != nil:
		return err
	case p.machine.backend == "sim" && p.nodes.task != nil:
		p.nodes.problem = &exit.EnvironmentError{Err: errors.New("ranks that srun starts one by one need NCCL or NVSHMEM, which need GPUs, and here is the simulator: " +
			"it wants srun --nodes=1 --ntasks=1 gpurun --nproc-per-node N")}
	case p.machine.backend == "sim":
		p.nodes.problem = &exit.EnvironmentError{Err: errors.New("jobs across machines need NCCL or NVSHMEM, which need GPUs, and here is the simulator")}
	}
	return nil
}

// refuseNodes keeps commands, which run on one machine, from what is for
// collectives on several.
func refuseNodes(s *settings, c config, word string) error {
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
