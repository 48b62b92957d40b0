package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"time"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/host"
	"gpurun/cmd/gpurun/node"
	"gpurun/cmd/gpurun/program"
	"gpurun/rendezvous"
	"gpurun/worker/process/agent"
	"gpurun/worker/process/guard"
	"gpurun/worker/process/nodes"
	"gpurun/worker/process/signals"
)

// meeting is where the ranks meet: at this machine's own server, or at node 0's.
type meeting struct {
	target, token string
	server        *rendezvous.Server
	nodes         *nodes.Nodes // nil on one machine
	deaf          func() bool  // stops listening for nodes that fail
	faults        *faults      // of this machine's GPUs
}

// openMeeting opens the rendezvous of one machine, or meets the other nodes.
func (p *Run) openMeeting(ctx context.Context, g *gatherer) (*meeting, error) {
	if err := node.ForgetToken(); err != nil {
		return nil, err
	}
	if p.Node.Several() {
		return p.meetNodes(ctx, g)
	}
	server, err := rendezvous.Serve(rendezvous.ServerConfig{
		WorldSize: p.Host.Ranks, JoinTimeout: p.Job.Timeout, HeartbeatTimeout: silence(p.Host, runtime.NumCPU()),
		Logger: g.log,
	})
	if err != nil {
		return nil, err
	}
	return &meeting{target: server.Target(), server: server}, nil
}

// silence is the time without a heartbeat after which a rank counts as lost. Simulated ranks share the cores of the
// machine: the more ranks, the longer each waits for a core.
func silence(m host.Host, cores int) time.Duration {
	const turn = 2 * time.Second
	if m.Backend != "sim" {
		return rendezvous.DefaultHeartbeatTimeout
	}
	return max(rendezvous.DefaultHeartbeatTimeout, time.Duration(m.Ranks/cores)*turn)
}

// meetNodes waits for the other nodes. From then on, a node that has failed, or is
// lost, ends the run.
func (p *Run) meetNodes(ctx context.Context, g *gatherer) (*meeting, error) {
	plan, err := p.nodePlan()
	if err != nil {
		return nil, err
	}
	all, err := nodes.Meet(ctx, nodes.Config{
		Count: p.Node.Count, Rank: p.Node.Rank, Addr: p.Node.Addr, Port: p.Node.Port, Token: p.Node.Credentials.Token,
		TLS:         p.Node.Credentials.TLS,
		JoinTimeout: p.Node.Wait, Timeout: p.Job.Timeout, Logger: g.log,
	}, plan)
	if err != nil {
		return nil, meetingError(p.Problem, err)
	}
	m := &meeting{nodes: all}
	m.target, m.token = all.Ranks()
	m.deaf = context.AfterFunc(all.Context(), func() { g.fail(elsewhere(all.Lost())) })
	return m, nil
}

// tell sends this node's first failure to the other nodes. It has the type of agent.Spec.Failed.
func (m *meeting) tell(f *agent.Failure) {
	if m.nodes == nil {
		return
	}
	m.nodes.Announce(func() nodes.End {
		if err := m.faults.now(); err != nil {
			return nodes.End{Code: exit.NodeLost, What: err.Error(), At: f.Time}
		}
		return nodes.End{Code: exit.CodeOfWorkers(&agent.Outcome{First: f}), What: f.Error(), At: f.Time}
	})
}

// nodePlan is the plan that this node sends to the others. If the node cannot take part, its number of ranks may be
// unknown.
func (p *Run) nodePlan() (nodes.Plan, error) {
	plan := nodes.Plan{Version: program.Version(), Workers: p.Host.Ranks}
	if p.Problem != nil {
		plan.Problem, plan.Workers = p.Problem.Error(), p.Config.NProcPerNode.Number
	}
	job := p.Job
	job.LibraryPaths = nil // the ranks compare versions; files may lie elsewhere on each node
	var err error
	plan.Job, err = nodes.Fields(job)
	return plan, err
}

// meetingError gives an error of nodes.Meet its exit code. If this node cannot take part, the error says so in any
// case.
func meetingError(problem, err error) error {
	var (
		signaled signals.Received
		differ   *nodes.Disagreement
		unfit    *nodes.Unfit
	)
	code := exit.Rendezvous
	switch {
	case errors.As(err, &signaled):
		code = exit.Signaled + int(signaled.Signal)
	case errors.As(err, &differ):
		code = exit.Usage
	case errors.As(err, &unfit):
		code = exit.Environment
	case problem != nil:
		code, err = exit.Environment, errors.Join(problem, err)
	}
	return &exit.Error{Code: code, Err: err}
}

// elsewhereError is a failure on another node, with the exit code that all nodes
// share.
type elsewhereError struct {
	code   int
	reason string
}

func (e *elsewhereError) Error() string { return e.reason }

// elsewhere says that a node has failed, or is gone without a word.
func elsewhere(err error) error {
	if failed := new(nodes.Failed); errors.As(err, &failed) {
		return &elsewhereError{failed.Code, failed.Error()}
	}
	return &elsewhereError{exit.NodeLost, err.Error()}
}

// conclude agrees with the other nodes how the job ended. It returns what went
// wrong: the run's own error, or what happened elsewhere.
func (m *meeting) conclude(ctx context.Context, g *gatherer, o *agent.Outcome, runErr error, stderr io.Writer) error {
	if m.nodes == nil {
		return runErr
	}
	m.deaf() // from now on a node may leave
	v, err := m.nodes.Conclude(context.WithoutCancel(ctx), ownEnd(g, o, runErr))
	switch mine := m.nodes.Rank(); {
	case err != nil && o != nil && o.First == nil && errors.As(o.Cause, new(*elsewhereError)):
		return runErr // the cause says which node is lost
	case err != nil:
		return errors.Join(runErr, &elsewhereError{exit.NodeLost, err.Error()})
	case v.Node == mine:
		return runErr
	case v.Code != 0:
		return errors.Join(runErr, &elsewhereError{v.Code, v.Name + ": " + v.What})
	}
	fmt.Fprintf(stderr, "gpurun: %s: %s\n", v.Name, v.What)
	return runErr
}

// ownEnd is how this node's ranks ended.
func ownEnd(g *gatherer, o *agent.Outcome, runErr error) nodes.End {
	g.mu.Lock()
	defer g.mu.Unlock()
	if o == nil {
		o = &agent.Outcome{} // no worker was started
	}
	var e nodes.End
	e.What, e.Code = failure(g, o, runErr)
	if e.What == "" {
		e.What = g.summary()
	}
	if o.First != nil {
		e.At = o.First.Time
		e.Consequence = o.First.Report != nil && o.First.Report.Consequence
	}
	if errors.As(o.Cause, new(*elsewhereError)) {
		e.Consequence = true
	}
	if isUnfit(runErr) || errors.Is(o.Cause, guard.ErrGone) || errors.Is(runErr, guard.ErrGone) {
		e.Code, e.Consequence = exit.NodeLost, false // to the others this node is lost
	}
	return e
}

func (m *meeting) close() error {
	if m.nodes == nil {
		return m.server.Close()
	}
	m.deaf()
	return m.nodes.Close()
}
