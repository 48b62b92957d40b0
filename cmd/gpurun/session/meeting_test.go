package session

import (
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/zap"

	"gpurun/cmd/gpurun/exit"
	"gpurun/cmd/gpurun/host"
	"gpurun/cmd/gpurun/node"
	"gpurun/rendezvous/transport"
	"gpurun/rendezvous/transport/certtest"
	"gpurun/worker/process/agent"
	"gpurun/worker/process/nodes"
	"gpurun/worker/process/report"
	"gpurun/worker/process/signals"
	"gpurun/worker/result"
	"gpurun/worker/workload"
)

// Every rank has its number among all, and among those of its machine, and its node's
// certificate.
func TestAssignmentsOfAnotherNode(t *testing.T) {
	files := certtest.New(t).Node(nil)
	files.ServerName = "node0"
	tls, err := transport.LoadTLS(files)
	if err != nil {
		t.Fatal(err)
	}
	p := &Run{
		Host: host.Host{Backend: "cuda", Ranks: 2, GPUs: 2},
		Node: node.Node{Count: 3, Rank: 2, Credentials: node.Credentials{TLS: tls}},
	}
	variables, err := p.assign(&meeting{target: "node0:1234", token: "t"})
	if err != nil {
		t.Fatal(err)
	}
	for localRank, variable := range variables {
		name, value, _ := strings.Cut(variable, "=")
		t.Setenv(name, value)
		got, err := takeAssignment()
		if err != nil {
			t.Fatal(err)
		}
		if loaded, err := got.tls(); err != nil || loaded == nil {
			t.Errorf("its certificate: %v", err)
		}
		want := assignment{
			Rank: 4 + localRank, LocalRank: localRank, WorldSize: 6, LocalWorldSize: 2, Target: "node0:1234", Token: "t",
			TLS:     &files,
			Backend: "cuda", Ordinal: localRank,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error(diff)
		}
	}
}

func TestMeetingError(t *testing.T) {
	problem := errors.New("no GPU")
	for _, tt := range []struct {
		problem, err error
		code         int
		text         string
	}{
		{nil, errors.New("nobody came"), exit.Rendezvous, "nobody came"},
		{problem, errors.New("nobody came"), exit.Environment, "no GPU\nnobody came"},
		{problem, errors.Join(&nodes.Unfit{Reason: "node 1: no GPU"}), exit.Environment, "node 1: no GPU"},
		{problem, &nodes.Disagreement{Reason: "sizes"}, exit.Usage, "sizes"},
		{problem, signals.Received{Signal: syscall.SIGINT}, exit.Signaled + 2, "received SIGINT"},
	} {
		err := meetingError(tt.problem, tt.err)
		if exit.Code(err) != tt.code || err.Error() != tt.text {
			t.Errorf("%v: %d, %q", tt.err, exit.Code(err), err)
		}
	}
}

// Libraries may lie elsewhere on each node.
func TestNodePlanLeavesOutLibraryPaths(t *testing.T) {
	var plans []nodes.Plan
	for _, path := range []string{"/opt/a/libnccl.so.2", "/opt/b/libnccl.so.2"} {
		p := &Run{Job: workload.Job{Collective: "allreduce", LibraryPaths: map[string]string{"nccl": path}}}
		plan, err := p.nodePlan()
		if err != nil {
			t.Fatal(err)
		}
		if p.Job.LibraryPaths["nccl"] != path {
			t.Error("the job itself has lost the path")
		}
		plans = append(plans, plan)
	}
	if diff := cmp.Diff(plans[0], plans[1]); diff != "" {
		t.Error(diff)
	}
}

// What a node tells the others of its end.
func TestOwnEnd(t *testing.T) {
	died := time.Unix(1, 0)
	right, wrong := int64(0), int64(3)
	for name, tt := range map[string]struct {
		results []result.Result
		outcome *agent.Outcome
		err     error
		want    nodes.End
	}{
		"verified": {
			[]result.Result{{Wrong: &right}, {Wrong: &right}}, &agent.Outcome{}, nil, nodes.End{What: "all 2 results verified"},
		},
		"not verified": {[]result.Result{{}}, &agent.Outcome{}, nil, nodes.End{What: "1 result, not verified"}},
		"wrong": {
			[]result.Result{{Wrong: &wrong}, {Wrong: &right}},
			&agent.Outcome{}, nil,
			nodes.End{Code: 1, What: "1 of 2 results have wrong elements"},
		},
		"death": {
			nil, &agent.Outcome{First: &agent.Failure{Rank: 9, PID: 7, Signal: syscall.SIGKILL, Time: died}}, nil,
			nodes.End{Code: 5, What: "rank 9 (pid 7) was killed by SIGKILL", At: died},
		},
		"consequence": {
			nil, &agent.Outcome{First: &agent.Failure{Rank: 1, PID: 7, Time: died, Report: &report.Failure{
				Class: report.Rendezvous, Message: "rank 9 departed", Consequence: true,
			}}},
			nil,
			nodes.End{Code: 6, What: "rank 1 (pid 7) failed: rank 9 departed", At: died, Consequence: true},
		},
		"lost node": {
			nil, &agent.Outcome{Cause: &elsewhereError{6, "node 1 departed"}}, nil,
			nodes.End{Code: 6, What: "node 1 departed", Consequence: true},
		},
		"signal": {
			nil, &agent.Outcome{Signal: syscall.SIGINT, Cause: signals.Received{Signal: syscall.SIGINT}}, nil,
			nodes.End{Code: 130, What: "received SIGINT"},
		},
		"nothing started": {
			nil, nil, &exit.EnvironmentError{Err: errors.New("no descriptors")}, nodes.End{Code: 3, What: "no descriptors"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := &gatherer{report: result.Report{Results: tt.results}}
			if diff := cmp.Diff(tt.want, ownEnd(g, tt.outcome, tt.err)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A failure elsewhere explains the one that followed from it here.
func TestFailureElsewhere(t *testing.T) {
	here := &agent.Outcome{
		First: &agent.Failure{Rank: 1, Report: &report.Failure{Class: report.Rendezvous, Consequence: true}},
	}
	reason, code := failure(&gatherer{}, here, errors.Join(nil, &elsewhereError{5, "node 1: rank 9 died"}))
	if reason != "node 1: rank 9 died" || code != 5 {
		t.Errorf("%d, %q", code, reason)
	}
}

// What another node tells has its exit code; one that is gone has that of a lost node.
func TestElsewhere(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want elsewhereError
	}{
		{
			&nodes.Failed{Verdict: nodes.Verdict{Name: "node 1", End: nodes.End{Code: 5, What: "rank 9 died"}}},
			elsewhereError{5, "node 1: rank 9 died"},
		},
		{errors.New("node 1 departed"), elsewhereError{exit.NodeLost, "node 1 departed"}},
	} {
		var got *elsewhereError
		if err := elsewhere(tt.err); !errors.As(err, &got) || *got != tt.want {
			t.Errorf("%v is %v, want %v", tt.err, err, tt.want)
		}
	}
}

// Workers do not inherit the secret.
func TestSecretIsTakenOutOfTheEnvironment(t *testing.T) {
	t.Setenv(node.TokenVariable, "0123456789abcdef")
	p := &Run{Host: host.Host{Ranks: 1}, Job: workload.Job{Timeout: time.Second}}
	m, err := p.openMeeting(t.Context(), &gatherer{log: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := os.LookupEnv(node.TokenVariable); ok {
		t.Error("it is still there")
	}
	if err := m.close(); err != nil {
		t.Error(err)
	}
}

// Many simulated ranks on few cores may be silent for longer than GPUs' may.
func TestSilence(t *testing.T) {
	for _, tt := range []struct {
		backend      string
		ranks, cores int
		want         time.Duration
	}{
		{"cuda", 72, 2, 30 * time.Second},
		{"sim", 8, 2, 30 * time.Second},
		{"sim", 72, 2, 72 * time.Second},
		{"sim", 72, 128, 30 * time.Second},
	} {
		if got := silence(host.Host{Backend: tt.backend, Ranks: tt.ranks}, tt.cores); got != tt.want {
			t.Errorf("%+v: %v", tt, got)
		}
	}
}
