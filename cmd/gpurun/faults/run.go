package faults

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"gpurun/worker/process/processtest"
)

// Outcome is what was observed in a cell.
type Outcome struct {
	Cell     Cell
	NotRun   string // why this machine cannot run the cell; empty: it has run
	Code     int    // exit code of gpurun, on the node that survives
	Sentence string // the first that gpurun said on that node
	// Beyond is the time from the strike to the end of all nodes, without the grace that is documented.
	Beyond time.Duration
	Left   []string // processes, files and sockets that outlived the job
}

const (
	// MostBeyond bounds the time that gpurun may take beyond its grace.
	MostBeyond = 5 * time.Second
	// hung is the time beyond its grace after which a cell is given up.
	hung = 20 * time.Second
	// tries is how often a cell is begun again that has missed its moment.
	tries = 10
)

// Run runs a cell.
func (r *Room) Run(c Cell) (Outcome, error) {
	want, ok := Expected(c)
	if !ok {
		return Outcome{}, fmt.Errorf("%v: nothing is expected of it", c)
	}
	fault := faultNamed(c.Fault)
	if fault.Missing != nil {
		if missing := fault.Missing(r); missing != "" {
			return Outcome{Cell: c, NotRun: missing}, nil
		}
	}
	for try := 1; ; try++ {
		o, err := r.try(c, fault, want, try)
		if !errors.Is(err, errTooLate) || try == tries {
			return o, err
		}
	}
}

// Alone reports whether a cell must not run beside others.
func (c Cell) Alone() bool { return faultNamed(c.Fault).Alone }

func faultNamed(name string) Fault {
	all := Faults()
	return all[slices.IndexFunc(all, func(f Fault) bool { return f.Name == name })]
}

// try runs a cell once.
func (r *Room) try(c Cell, fault Fault, want Expectation, try int) (_ Outcome, err error) {
	s := &Scene{
		Cell: c, room: r, grace: want.Grace, mark: fmt.Sprintf("GPURUN_FAULTS_MARK=%d-%v-%d", os.Getpid(), c, try),
	}
	if s.folder, err = os.MkdirTemp(r.Folder, "cell"); err != nil {
		return Outcome{}, err
	}
	defer s.over()
	if fault.Job == nil {
		s.job = jobOf(c)
	} else {
		s.job = fault.Job(c)
	}
	if s.job.Before != nil {
		if err := s.job.Before(s); err != nil {
			return Outcome{}, err
		}
	}
	struck := time.Now()
	if err := s.start(); err != nil {
		return Outcome{}, err
	}
	if s.job.Ready != nil {
		if err := s.job.Ready(s); err != nil {
			return Outcome{}, err
		}
		struck = time.Now()
	}
	sockets, err := s.sockets()
	if err != nil {
		return Outcome{}, err
	}
	if fault.Strike != nil {
		if err := fault.Strike(s); err != nil {
			return Outcome{}, fmt.Errorf("the fault: %w", err)
		}
	}
	return s.outcome(struck, sockets)
}

// outcome waits for the end of all nodes, and looks for what is left.
func (s *Scene) outcome(struck time.Time, sockets []string) (Outcome, error) {
	o := Outcome{Cell: s.Cell}
	last := struck
	for node, g := range s.nodes {
		if err := s.awaitEnd(node); err != nil {
			return o, err
		}
		if g.at.After(last) {
			last = g.at
		}
	}
	o.Beyond = max(last.Sub(struck)-s.grace, 0)
	o.Code = codeOf(s.nodes[s.observed()].cmd.ProcessState.Sys().(syscall.WaitStatus))
	o.Sentence = firstSentence(s.stderr(s.observed()))
	if err := s.sweep(); err != nil {
		return o, err
	}
	var err error
	o.Left, err = s.left(sockets)
	return o, err
}

// codeOf is the exit code as a shell has it.
func codeOf(status syscall.WaitStatus) int {
	if status.Signaled() {
		return 128 + int(status.Signal())
	}
	return status.ExitStatus()
}

// over ends what is left of the scene.
func (s *Scene) over() {
	for _, end := range slices.Backward(s.ends) {
		end()
	}
	pids, err := processtest.Marked(s.mark)
	if err != nil {
		return
	}
	for _, pid := range pids {
		_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
	}
}

// sweep runs the next gpurun of the user, where a node was killed: of a guard and an agent that are killed in the same
// instant something may be left until then.
func (s *Scene) sweep() error {
	if s.Cell.Fault != "kill -9" || !slices.Contains(nodes(), s.Cell.Victim) {
		return nil
	}
	if _, err := s.alive(); err != nil { // an agent that the kernel is still ending counts as one that runs
		return err
	}
	next := exec.Command(s.room.Gpurun, "--nproc-per-node", "1", "--", "true")
	next.Env = append(os.Environ(), "TMPDIR="+s.file("tmp"))
	if out, err := next.CombinedOutput(); err != nil {
		return fmt.Errorf("the next gpurun: %w %s", err, out)
	}
	return nil
}

// leftTimeout is how long processes may outlive gpurun, as when the guard is killed.
const leftTimeout = 2 * time.Second

// alive lists the processes of the scene, once they have had time to end.
func (s *Scene) alive() (pids []int, err error) {
	for begun := time.Now(); time.Since(begun) < leftTimeout; time.Sleep(5 * time.Millisecond) {
		if pids, err = processtest.Marked(s.mark); err != nil || len(pids) == 0 {
			break
		}
	}
	return pids, err
}

// left lists what has outlived the job: processes, files in TMPDIR and /dev/shm, abstract sockets.
func (s *Scene) left(sockets []string) (all []string, err error) {
	pids, err := s.alive()
	if err != nil {
		return nil, err
	}
	for _, pid := range pids {
		command, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)) // it may have ended
		all = append(all, fmt.Sprintf("process %d: %q", pid, command))
	}
	folders := []string{s.file("tmp")}
	if s.room.Private {
		folders = append(folders, "/dev/shm")
	}
	for _, folder := range folders {
		files, err := filepath.Glob(folder + "/*")
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			if !isCrash(file) {
				all = append(all, file)
			}
		}
	}
	now, err := abstractSockets()
	if err != nil {
		return nil, err
	}
	for _, name := range sockets {
		if slices.ContainsFunc(now, func(s socket) bool { return s.name == name }) {
			all = append(all, "socket "+name)
		}
	}
	return all, nil
}

// isCrash reports whether a file has the stacks of a crash, which the sentence names: it is the user's.
func isCrash(file string) bool {
	match, err := filepath.Match("gpurun-crash-*.txt", filepath.Base(file))
	return match && err == nil
}
