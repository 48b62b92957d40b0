package faults

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"gpurun/worker/process/processtest"
)

// Room is where cells run.
type Room struct {
	Gpurun  string // the program
	Folder  string // in which each cell gets one of its own
	Private bool   // the network, the mounts and /dev/shm are those of the test alone
	Network bool   // the nodes node0 and node1 of `ip netns` are there, at 192.0.2.10 and 192.0.2.11, by port0 and port1
	// StandIns makes stand-ins for CUDA and NCCL, on two GPUs, and returns their folder; nil: there is no C compiler.
	StandIns func() (string, error)
	// Etcd starts an etcd with the data of a folder, which listens at the address; nil: there is none.
	Etcd func(folder, address, peers string) (*exec.Cmd, error)
}

// Scene is the job of a cell, while it runs.
type Scene struct {
	Cell   Cell
	room   *Room
	job    Job
	folder string
	mark   string // the variable by which its processes are found
	nodes  []*gpurun
	grace  time.Duration
	ends   []func()  // run when the scene is over, the last first
	proxy  *proxy    // between the nodes; may be nil
	etcd   *exec.Cmd // by which the nodes meet; may be nil
}

// gpurun is one node's.
type gpurun struct {
	cmd    *exec.Cmd
	stdout *os.File // the end to read; nil if it goes to a file
	ended  chan struct{}
	at     time.Time // when it has ended
}

// startTimeout bounds how long a job takes to come to its moment, on a busy machine.
const startTimeout = 20 * time.Second

func (s *Scene) file(name string) string { return filepath.Join(s.folder, name) }

// start starts the nodes of the job.
func (s *Scene) start() error {
	if err := os.MkdirAll(s.file("tmp"), 0o700); err != nil {
		return err
	}
	for node := range s.job.Nodes {
		g, err := s.startNode(node)
		if err != nil {
			return err
		}
		s.nodes = append(s.nodes, g)
	}
	return nil
}

func (s *Scene) startNode(node int) (*gpurun, error) {
	words := append([]string{s.room.Gpurun}, s.job.Nodes[node]...)
	if s.job.Own != nil {
		words = append(s.job.Own(node), words...)
	}
	if s.job.Shell != "" && node == s.Cell.Victim.node() {
		words = append([]string{"sh", "-c", s.job.Shell + "\nexec \"$@\"", "sh"}, words...)
	}
	cmd := exec.Command(words[0], words[1:]...)
	cmd.Env = append(os.Environ(), "SCENE="+s.folder, "TMPDIR="+s.file("tmp"), "GOTRACEBACK=", s.mark)
	cmd.Env = append(cmd.Env, s.job.Env...)
	stderr, err := os.Create(s.file(fmt.Sprintf("stderr.%d", node)))
	if err != nil {
		return nil, err
	}
	defer stderr.Close()
	cmd.Stderr = stderr
	g := &gpurun{cmd: cmd, ended: make(chan struct{})}
	var stdout *os.File
	if s.job.Unread {
		g.stdout, stdout, err = os.Pipe()
	} else {
		stdout, err = os.Create(s.file(fmt.Sprintf("stdout.%d", node)))
	}
	if err != nil {
		return nil, err
	}
	defer stdout.Close()
	cmd.Stdout = stdout
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		_ = cmd.Wait() // ProcessState says how it ended
		g.at = time.Now()
		close(g.ended)
	}()
	return g, nil
}

// observed is the node whose end the cell is about: the one that survives, if the victim is a node.
func (s *Scene) observed() int {
	if len(s.nodes) > 1 {
		return 1 - s.Cell.Victim.node()
	}
	return 0
}

// pid is the victim's process. Of a node it is the agent.
func (s *Scene) pid() (int, error) {
	switch s.Cell.Victim {
	case Guard:
		return s.nodes[0].cmd.Process.Pid, nil
	case Worker:
		return s.worker(rankToHit)
	}
	return processtest.Child(s.nodes[s.Cell.Victim.node()].cmd.Process.Pid)
}

var started = regexp.MustCompile(`worker started {"rank": (\d+), "pid": (\d+)}`)

// worker finds a rank's process by the log.
func (s *Scene) worker(rank int) (int, error) {
	for node := range s.nodes {
		for _, match := range started.FindAllStringSubmatch(s.stderr(node), -1) {
			if match[1] == strconv.Itoa(rank) {
				return strconv.Atoi(match[2])
			}
		}
	}
	return 0, fmt.Errorf("rank %d has not been started", rank)
}

// signal sends signals to the victim. A node is all its processes of gpurun.
func (s *Scene) signal(signals ...syscall.Signal) error {
	pid, err := s.pid()
	if err != nil {
		return err
	}
	pids := []int{pid}
	if slices.Contains(nodes(), s.Cell.Victim) {
		pids = append(pids, s.nodes[s.Cell.Victim.node()].cmd.Process.Pid)
	}
	for _, signal := range signals {
		for _, pid := range pids {
			if err := syscall.Kill(pid, signal); err != nil && !errors.Is(err, syscall.ESRCH) {
				return fmt.Errorf("sending %v to %d: %w", signal, pid, err)
			}
		}
	}
	return nil
}

// End asks all nodes for the end, as a user does whose job a fault did not end.
func (s *Scene) End() error {
	var errs []error
	for _, g := range s.nodes {
		errs = append(errs, g.cmd.Process.Signal(syscall.SIGTERM))
	}
	return errors.Join(errs...)
}

// tell has the program of a rank run a line.
func (s *Scene) tell(rank int, line string) error {
	name := s.file(fmt.Sprintf("do.%d", rank))
	if err := os.WriteFile(name+".new", []byte(line+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

// finish has all programs end well.
func (s *Scene) finish() error { return errors.Join(s.tell(0, "exit 0"), s.tell(1, "exit 0")) }

func (s *Scene) stderr(node int) string {
	text, err := os.ReadFile(s.file(fmt.Sprintf("stderr.%d", node)))
	if err != nil {
		return ""
	}
	return string(text)
}

func (s *Scene) stdout(node int) string {
	text, err := os.ReadFile(s.file(fmt.Sprintf("stdout.%d", node)))
	if err != nil {
		return ""
	}
	return string(text)
}

// await waits for a condition, while no node has ended.
func (s *Scene) await(what string, condition func() bool) error {
	for begun := time.Now(); time.Since(begun) < startTimeout; time.Sleep(time.Millisecond) {
		if condition() {
			return nil
		}
		for node, g := range s.nodes {
			select {
			case <-g.ended:
				return fmt.Errorf("node %d has ended while the test waits for %s: %s", node, what, s.stderr(node))
			default:
			}
		}
	}
	return fmt.Errorf("waiting for %s took more than %v: %s", what, startTimeout, s.stderr(0))
}

// awaitEnd waits until a node has ended.
func (s *Scene) awaitEnd(node int) error {
	select {
	case <-s.nodes[node].ended:
		return nil
	case <-time.After(s.grace + hung):
		return fmt.Errorf("node %d has not ended %v after the fault: %s", node, s.grace+hung, s.stderr(node))
	}
}

func (s *Scene) awaitFiles(names ...string) error {
	return s.await(strings.Join(names, " and "), func() bool {
		for _, name := range names {
			if _, err := os.Stat(s.file(name)); err != nil {
				return false
			}
		}
		return true
	})
}

// awaitAny waits until a node has written the text to standard error.
func (s *Scene) awaitAny(text string) error {
	return s.await(text, func() bool {
		for node := range s.nodes {
			if strings.Contains(s.stderr(node), text) {
				return true
			}
		}
		return false
	})
}

// nodesJoin waits until both nodes wait for the third.
func (s *Scene) nodesJoin() error {
	return s.await("both nodes to join", func() bool {
		return strings.Contains(s.stderr(0), "joining the rendezvous") &&
			strings.Contains(s.stderr(1), "joining the rendezvous")
	})
}

// holdBeforeJoin stops the victim's rank before it joins. The fault continues it if it has to act.
func (s *Scene) holdBeforeJoin() error {
	var pid int
	err := s.await("the worker", func() bool {
		var err error
		pid, err = s.worker(rankToHit)
		return err == nil && catches(pid, syscall.SIGSEGV)
	})
	if err != nil {
		return err
	}
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		return err
	}
	// The other rank comes to the rendezvous meanwhile, and both would be in.
	time.Sleep(pause)
	if strings.Contains(s.stderr(0), "member is in") {
		return errTooLate
	}
	return nil
}

// catches reports whether a process catches a signal: its runtime has begun.
func catches(pid int, signal syscall.Signal) bool {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(status), "SigCgt:")
	line, _, _ := strings.Cut(rest, "\n")
	set, err := strconv.ParseUint(strings.TrimSpace(line), 16, 64)
	return err == nil && set&(1<<(signal-1)) != 0
}

// errTooLate says that the scene went past its moment: another try may meet it.
var errTooLate = errors.New("the worker has joined before it could be stopped")

// resultRow is a row of results.
var resultRow = regexp.MustCompile(`(?m)^ +65536 .*\n`)

// collectiveRuns waits until both ranks have measured once, and do so again.
func (s *Scene) collectiveRuns() error {
	return s.await("a row of results", func() bool { return resultRow.MatchString(s.stdout(0)) })
}
