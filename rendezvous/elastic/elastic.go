// Package elastic lets the agents of several nodes begin, restart and end a
// job together, as torchrun's elastic rendezvous does.
//
// An agent calls [Enter], and then [Member.NextRound] whenever it is ready to
// start workers. NextRound waits until enough nodes have joined, and returns the
// node's group rank and its workers' ranks. A round begins when all of its nodes
// have reached the master's open port.
//
// The context of a [Round] ends as soon as the group must stop, and its cause says
// why. The agent then stops its workers and asks for the next round. Failures, lost
// nodes and new nodes reach all agents without polling. At the end all agents leave
// together, by [Round.Finish]. A spare that was never needed ends as the job does.
//
// One agent serves the others. With [C10d] it is the agent that can bind the
// endpoint, with [Static] node 0. If that agent dies, the job is over. With [Etcd]
// it is the agent that holds a lease in etcd. If it dies or leaves, another agent
// takes over.
//
// Decisions are made by the state machine in rounds; this package connects it
// to gRPC. The protocol is in v1/elastic.proto.
package elastic

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"time"

	"go.uber.org/zap"

	"gpurun/rendezvous/elastic/rounds"
	"gpurun/rendezvous/transport"
)

// Backend is how the agents find the one that serves them.
type Backend string

// The backends, by torchrun's names.
const (
	C10d   Backend = "c10d"
	Static Backend = "static"
	Etcd   Backend = "etcd"
)

// Timeouts are the bounds of waits, those of torchrun's --rdzv-conf first.
type Timeouts struct {
	Join              time.Duration // until a round is complete
	LastCall          time.Duration // after MinNodes have joined, for more
	Close             time.Duration // for all agents to hear of the end
	Read              time.Duration // for all agents to answer
	KeepAliveInterval time.Duration
	KeepAliveTries    int           // an agent or server silent for so many intervals is gone
	Exit              time.Duration // of an agent that succeeded, for the others
}

// DefaultTimeouts are torchrun's.
func DefaultTimeouts() Timeouts {
	return Timeouts{
		Join: 600 * time.Second, LastCall: 30 * time.Second, Close: 30 * time.Second, Read: 60 * time.Second,
		KeepAliveInterval: 5 * time.Second, KeepAliveTries: 3,
		Exit: 300 * time.Second,
	}
}

func (t Timeouts) keepAlive() time.Duration {
	return t.KeepAliveInterval * time.Duration(t.KeepAliveTries)
}

// Hosting says whether an agent may serve the others, with C10d.
type Hosting int

// The ways to decide it.
const (
	HostAuto  Hosting = iota // the agent that can bind the endpoint
	HostYes                  // the endpoint is this host's, by whatever name
	HostNever                // it is another's
)

// Config is an agent's part in a job. All agents of a job have the same RunID,
// MinNodes, MaxNodes and MaxRestarts.
type Config struct {
	Backend  Backend
	Endpoint string // host:port; of etcd one or more, separated by commas
	Hosting  Hosting
	Token    string // of the job; beyond loopback needed without TLS
	TLS      *transport.TLS
	EtcdTLS  *tls.Config `json:"-"` // nil: plain text to etcd
	RunID    string

	MinNodes, MaxNodes int
	MaxRestarts        int // of the whole group, by failures

	NodeRank int // with Static
	Workers  int // of this node
	Role     string

	// LocalAddr is the host by which other nodes reach this one. Empty: the
	// address from which it reaches the server.
	LocalAddr  string
	MasterPort int // of the workers' master, with Static; a free one if 0, or if it is taken

	Timeouts Timeouts    // zero: DefaultTimeouts
	Logger   *zap.Logger // nil: silent

	hostName string // empty: the name of this host
}

func (c Config) withDefaults() (Config, error) {
	if c.Timeouts == (Timeouts{}) {
		c.Timeouts = DefaultTimeouts()
	}
	if c.Logger == nil {
		c.Logger = zap.NewNop()
	}
	if c.hostName == "" {
		name, err := os.Hostname()
		if err != nil {
			return c, fmt.Errorf("looking up the host's name: %w", err)
		}
		c.hostName = name
	}
	if c.Endpoint == "" {
		return c, errors.New("a rendezvous of several nodes needs an endpoint, host:port")
	}
	return c, nil
}

// authenticated says whether other nodes must authenticate themselves.
func (c Config) authenticated() bool { return c.Token != "" || c.TLS != nil }

func (c Config) terms() rounds.Terms {
	return rounds.Terms{
		RunID: c.RunID, Min: c.MinNodes, Max: c.MaxNodes,
		MaxRestarts: c.MaxRestarts, Static: c.Backend == Static,
	}
}

func (c Config) stateMachine() rounds.Config {
	return rounds.Config{
		Terms:            c.terms(),
		JoinTimeout:      c.Timeouts.Join,
		LastCall:         c.Timeouts.LastCall,
		ReadTimeout:      c.Timeouts.Read,
		HeartbeatTimeout: c.Timeouts.keepAlive(),
		ExitTimeout:      c.Timeouts.Exit,
	}
}

// Place is a node's place in a round.
type Place = rounds.Round

// Failure is how a node's workers failed.
type Failure = rounds.Failure

// End is the error that says how and why a node's part in the job ended.
type End = rounds.End

// The kinds of an End.
const (
	Finished = rounds.Finished // all nodes have succeeded
	Left     = rounds.Left     // this node wanted to leave
	Failed   = rounds.Failed   // workers failed, or nodes are gone, and no restart is left
	Closed   = rounds.Closed   // the job was over, or about to be, before the node joined
	Refused  = rounds.Refused  // the node's flags are not the job's
	TimedOut = rounds.TimedOut // others did not come, or did not answer
	Moved    = rounds.Moved    // the agent that served the rendezvous has left
)

var (
	// ErrServerGone says that the agent that served the rendezvous is gone, or
	// cannot be reached.
	ErrServerGone = errors.New("the agent that serves the rendezvous is gone")
	// ErrToken says that the server did not accept the job's token.
	ErrToken = transport.ErrToken
)

// Restart ends the context of a round whose group must stop, and meet again in
// the next round.
type Restart struct {
	Reason string
	Counts bool // it uses up one of the job's restarts
}

func (r *Restart) Error() string { return "the group restarts: " + r.Reason }
