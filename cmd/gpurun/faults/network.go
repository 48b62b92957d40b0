package faults

import (
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// networkFaults are what lies between nodes: a link, and the etcd by which they meet.
func networkFaults() []Fault {
	return []Fault{
		{
			Name: "partition", Does: "The network link of the victim goes down.",
			Job: partitionJob, Strike: strikeLink, Missing: func(r *Room) string {
				if !r.Network {
					return "no network namespaces can be made"
				}
				return ""
			},
		},
		{
			Name: "partition of a collective",
			Does: "The network link of the victim goes down while ranks on both nodes run an allreduce, " +
				"by stand-ins for CUDA and NCCL.",
			Job: cutCollectiveJob, Strike: strikeLink, Missing: func(r *Room) string {
				switch {
				case !r.Network:
					return "no network namespaces can be made"
				case r.StandIns == nil:
					return "there is no C compiler for stand-ins"
				}
				return ""
			},
		},
		{
			Name: "etcd lost and back", Does: "etcd stops, and starts again.",
			Job: etcdJob, Strike: strikeEtcd, Missing: func(r *Room) string {
				if r.Etcd == nil {
					return "there is no etcd"
				}
				return ""
			},
		},
	}
}

// links is held by the cell that has the links of the network namespaces, from before its nodes start.
var links sync.Mutex

// partitionJob runs each node in a network namespace.
func partitionJob(c Cell) Job {
	job := nodesAt(c, "192.0.2.10:"+portOf(c))
	job.Own = func(node int) []string { return []string{"ip", "netns", "exec", fmt.Sprintf("node%d", node)} }
	job.Before = func(s *Scene) error {
		links.Lock()
		s.ends = append(s.ends, links.Unlock)
		return nil
	}
	return job
}

// cutCollectiveJob runs a collective over two nodes, each in a network namespace. Rank 1 never comes to it, and the
// ranks wait for longer than any cell.
func cutCollectiveJob(c Cell) Job {
	job := partitionJob(c)
	lock := job.Before
	job.Before = func(s *Scene) error {
		if err := lock(s); err != nil {
			return err
		}
		folder, err := s.room.StandIns()
		s.job.Env = append(s.job.Env, "LD_LIBRARY_PATH="+folder)
		return err
	}
	job.Env = append(job.Env, "FAKE_CUDA_SHARES=1", "FAKE_CUDA_FORGETS=1", "FAKE_LOST=1")
	job.Ready = (*Scene).nodesRunCollective
	for node := range job.Nodes {
		job.Nodes[node] = []string{
			"--nnodes", "2", "--node-rank", strconv.Itoa(node), "--master-addr", "192.0.2.10", "--master-port", portOf(c),
			"--device", "cuda", "--log-level", "debug", "--grace", "1",
			"allreduce", "--algo", "nccl", "-b", "1K", "-e", "1K", "-n", "2", "-T", "300s",
		}
	}
	return job
}

// nodesRunCollective waits until the ranks of both nodes are in the collective, by a dump that node 0 makes.
func (s *Scene) nodesRunCollective() error {
	return s.await("all ranks to run the collective", func() bool {
		pid := strconv.Itoa(s.nodes[0].cmd.Process.Pid)
		cmd := exec.Command("ip", "netns", "exec", "node0", s.room.Gpurun, "dump", pid)
		out, _ := cmd.Output() // a job that has just begun does not answer
		return strings.Contains(string(out), "ranks 0,1,2,3: ") && strings.Contains(string(out), "allreduce nccl")
	})
}

// strikeLink cuts the victim's link until all has ended.
func strikeLink(s *Scene) error {
	link := fmt.Sprintf("port%d", s.Cell.Victim.node())
	s.ends = append(s.ends, func() {
		_ = exec.Command("ip", "link", "set", link, "up").Run() // the next cell misses it otherwise, and says so
	})
	if out, err := exec.Command("ip", "link", "set", link, "down").CombinedOutput(); err != nil {
		return fmt.Errorf("cutting the link: %w %s", err, out)
	}
	if s.Cell.Moment == AtEnd { // the nodes have to tell each other
		return s.tell(s.observed(), "exit 0")
	}
	return nil
}

// etcdJob has two nodes that meet by an etcd.
func etcdJob(c Cell) Job {
	at := Cell{c.Fault, c.Victim, c.Moment}
	if c.Moment == BeforeJoin {
		at.Moment = InCollective // both nodes come
	}
	job := nodesAt(at, etcdAddress(c), "--join-timeout", "15")
	for i, args := range job.Nodes {
		backend := slices.Index(args, "static")
		job.Nodes[i][backend] = "etcd"
	}
	ready := job.Ready
	job.Ready = func(s *Scene) error {
		if c.Moment == BeforeJoin { // it comes later
			return s.awaitAny("gpurun")
		}
		if err := s.startEtcd(); err != nil {
			return err
		}
		return ready(s)
	}
	return job
}

func etcdAddress(c Cell) string  { return "127.0.0.3:" + portOf(c) }
func etcdPeers(c Cell) string    { return "127.0.0.4:" + portOf(c) }
func (s *Scene) etcdURL() string { return "http://" + etcdAddress(s.Cell) + "/health" }

// startEtcd starts the etcd of the scene, with the data that it had.
func (s *Scene) startEtcd() error {
	cmd, err := s.room.Etcd(s.file("etcd"), etcdAddress(s.Cell), etcdPeers(s.Cell))
	if err != nil {
		return err
	}
	s.etcd = cmd
	s.ends = append(s.ends, func() { stopEtcd(cmd) })
	return nil
}

func stopEtcd(cmd *exec.Cmd) {
	_ = cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
}

// away is how long the etcd is gone.
const away = 2 * time.Second

// strikeEtcd kills the etcd, and starts it again. Then the workers end.
func strikeEtcd(s *Scene) error {
	if s.Cell.Moment == BeforeJoin {
		time.Sleep(away)
		if err := s.startEtcd(); err != nil {
			return err
		}
		if err := s.awaitFiles("up.0", "up.1"); err != nil {
			return err
		}
		return s.finish()
	}
	if err := s.etcd.Process.Signal(syscall.SIGKILL); err != nil {
		return err
	}
	_ = s.etcd.Wait() // it was killed
	client := &http.Client{Timeout: time.Second, Transport: &http.Transport{DisableKeepAlives: true}}
	if response, err := client.Get(s.etcdURL()); err == nil {
		response.Body.Close()
		return errors.New("the etcd lives on")
	}
	time.Sleep(away)
	return errors.Join(s.startEtcd(), s.finish())
}
