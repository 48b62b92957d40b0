package elastic

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// agentConfig is the environment variable that makes of a test binary an agent.
const agentConfig = "GPURUN_TEST_AGENT"

// agentPlan is what such an agent is told. It has no workers: it takes part in
// rounds until its standard input ends, and then finishes.
type agentPlan struct {
	Config
	Host string
}

// runAgent says on standard output what happens to it, a line each.
func runAgent(text string) int {
	var plan agentPlan
	if err := json.Unmarshal([]byte(text), &plan); err != nil {
		fmt.Println("error:", err)
		return 1
	}
	plan.Config.hostName = plan.Host
	ctx, cancel := context.WithTimeout(context.Background(), testTimeout)
	defer cancel()
	if err := takePart(ctx, plan.Config); err != nil {
		fmt.Println("over:", err)
		return 1
	}
	fmt.Println("finished")
	return 0
}

func takePart(ctx context.Context, config Config) error {
	m, err := Enter(ctx, config)
	if err != nil {
		return err
	}
	defer m.Close("it is done")
	if m.backend.serves() {
		fmt.Println("serves")
	}
	told := make(chan struct{})
	go func() {
		defer close(told)
		_, _ = os.Stdin.Read(make([]byte, 1))
	}()
	for {
		r, err := m.NextRound(ctx)
		if err != nil {
			return err
		}
		if m.backend.serves() && config.Backend == Etcd {
			fmt.Println("serves")
		}
		fmt.Printf("round of %d nodes, rank %d\n", r.Nodes, r.GroupRank)
		if r.Master() != nil {
			r.Master().Close()
		}
		select {
		case <-told:
			err = r.Finish(ctx)
		case <-r.Context().Done():
			err = context.Cause(r.Context())
		}
		if again := new(Restart); !errors.As(err, &again) {
			return err
		}
		fmt.Println("stops")
	}
}

// agentProcess is an agent that can be killed.
type agentProcess struct {
	t      *testing.T
	cmd    *exec.Cmd
	finish func() error
	lines  chan string // closed at its end
	serves bool
	seen   []string
}

func startAgent(t *testing.T, config Config, n int) *agentProcess {
	t.Helper()
	config.Logger = nil
	text, err := json.Marshal(agentPlan{Config: config, Host: fmt.Sprintf("host%d", n)})
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), agentConfig+"="+string(text))
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &agentProcess{t: t, cmd: cmd, finish: stdin.Close, lines: make(chan string, 100)}
	go func() {
		defer close(p.lines)
		for scanner := bufio.NewScanner(stdout); scanner.Scan(); {
			p.lines <- scanner.Text()
		}
	}()
	t.Cleanup(func() {
		p.kill()
		for range p.lines {
		}
		_ = cmd.Wait() // it was killed
	})
	return p
}

func (p *agentProcess) kill() { _ = p.cmd.Process.Signal(syscall.SIGKILL) }

func (p *agentProcess) stop() { _ = p.cmd.Process.Signal(syscall.SIGSTOP) }

// await waits until the agent says a line that begins so, and returns it.
func (p *agentProcess) await(prefix string) string {
	p.t.Helper()
	limit := time.After(testTimeout)
	for {
		select {
		case line, ok := <-p.lines:
			if !ok {
				p.t.Fatalf("%s has ended without %q; it said %q", p.cmd.Env[len(p.cmd.Env)-1], prefix, p.seen)
			}
			p.seen = append(p.seen, line)
			p.serves = p.serves || line == "serves"
			if strings.HasPrefix(line, prefix) {
				return line
			}
		case <-limit:
			p.t.Fatalf("no %q; the agent said %q", prefix, p.seen)
		}
	}
}

// startAll starts agents and waits until they are in one round.
func startAll(t *testing.T, config Config, count int) []*agentProcess {
	t.Helper()
	agents := make([]*agentProcess, count)
	for n := range agents {
		agents[n] = startAgent(t, config, n)
	}
	for _, a := range agents {
		a.await(fmt.Sprintf("round of %d nodes", count))
	}
	return agents
}

// split returns the agent that serves, and the others.
func split(t *testing.T, agents []*agentProcess) (serving *agentProcess, others []*agentProcess) {
	t.Helper()
	for _, a := range agents {
		if a.serves && serving == nil {
			serving = a
		} else {
			others = append(others, a)
		}
	}
	if serving == nil {
		t.Fatal("no agent serves")
	}
	return serving, others
}

func TestKilledServerEndsTheOthersWithAReason(t *testing.T) {
	config := job(t, 2, 3)
	config.MaxRestarts = 3
	serving, others := split(t, startAll(t, config, 3))
	serving.kill()
	for _, a := range others {
		line := a.await("over:")
		if !strings.Contains(line, ErrServerGone.Error()) || !strings.Contains(line, "--rdzv-backend etcd") {
			t.Errorf("got %q", line)
		}
	}
}

func TestKilledAgentIsMissedAtOnce(t *testing.T) {
	serving, others := split(t, startAll(t, job(t, 2, 3), 3))
	others[0].kill()
	const promise = time.Second
	begin := time.Now()
	for _, a := range []*agentProcess{serving, others[1]} {
		a.await("stops")
	}
	if took := time.Since(begin); took > promise {
		t.Errorf("the others were told to stop after %v", took)
	}
	for _, a := range []*agentProcess{serving, others[1]} {
		a.await("round of 2 nodes")
	}
	t.Logf("the next round had begun after %v", time.Since(begin))
	for _, a := range []*agentProcess{serving, others[1]} {
		if err := a.finish(); err != nil {
			t.Error(err)
		}
	}
	serving.await("finished")
	others[1].await("finished")
}

// A connection that stands says nothing about the process at its end.
func TestStoppedAgentIsMissed(t *testing.T) {
	t.Parallel()
	config := job(t, 2, 3)
	config.Timeouts.KeepAliveInterval, config.Timeouts.KeepAliveTries = time.Second, 4
	serving, others := split(t, startAll(t, config, 3))
	others[0].stop()
	for _, a := range []*agentProcess{serving, others[1]} {
		a.await("stops")
		a.await("round of 2 nodes")
	}
}

func TestStoppedServerIsMissed(t *testing.T) {
	t.Parallel()
	config := job(t, 2, 3)
	config.Timeouts.KeepAliveInterval, config.Timeouts.KeepAliveTries = time.Second, 4
	serving, others := split(t, startAll(t, config, 3))
	serving.stop()
	for _, a := range others {
		if line := a.await("over:"); !strings.Contains(line, "no heartbeat for 4s") {
			t.Errorf("got %q", line)
		}
	}
}
