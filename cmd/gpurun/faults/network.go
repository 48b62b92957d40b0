package faults

import (
	"errors"
	"fmt"
	"net/http"
	"os/exec"
	"slices"
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
