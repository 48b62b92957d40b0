// Package nodes lets the agents of several machines begin a job together, and
// end it together.
//
//	node 0                                every other node
//	serve the nodes' rendezvous  <------  join it, once it is up
//	                  all exchange what they are about to run, and compare
//	serve the ranks' rendezvous  ------>  get its address and secret
//	                  all run their own ranks; a node that fails announces that,
//	                  which ends the others' Context; so does a node that is lost
//	                  all exchange how their ranks ended; the first cause counts
//
// The user's token stays with the agents: the ranks' rendezvous has a random secret of
// its own for each run. Without TLS neither is encrypted. What the ranks send each other
// by NCCL or NVSHMEM is never encrypted.
package nodes

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"go.uber.org/zap"

	"gpurun/rendezvous"
	"gpurun/rendezvous/transport"
)

// Config is a node's place in a job.
type Config struct {
	Count, Rank int
	// Addr and Port are the address at which node 0 serves the rendezvous, and by which all
	// other nodes reach it.
	Addr string
	Port int
	// Token is the job's secret; beyond loopback it must not be empty without TLS.
	Token string
	TLS   *transport.TLS // for servers with node 0's name; nil: plain text
	// JoinTimeout bounds the wait for all nodes to join, and Timeout any later wait.
	JoinTimeout, Timeout time.Duration
	Logger               *zap.Logger
}

// address is node 0's, as all nodes are told it.
func (c Config) address() string { return net.JoinHostPort(c.Addr, strconv.Itoa(c.Port)) }

// Nodes are the machines of a job that has begun, from the view of one of them.
type Nodes struct {
	config  Config
	begun   time.Time // on all nodes at about the same time
	group   *rendezvous.Group
	ranksAt endpoint
	// ctx is the result of Context. tasks end with the group.
	ctx   context.Context
	end   context.CancelCauseFunc
	tasks sync.WaitGroup
	// meeting is the nodes' rendezvous and ranks that of the ranks. Both are nil but on
	// node 0.
	meeting, ranks *rendezvous.Server
}

// endpoint is where a rendezvous is served, and its secret.
type endpoint struct {
	Target string `json:"target"`
	Token  string `json:"token"`
}

// Meet waits for all nodes and compares what they are about to run. The caller
// closes the Nodes.
//
// Errors: *Disagreement, *Unfit, and those of the rendezvous.
func Meet(ctx context.Context, c Config, mine Plan) (_ *Nodes, err error) {
	n := &Nodes{config: c}
	defer func() {
		if err != nil {
			err = errors.Join(err, n.Close())
		}
	}()
	if err := n.join(ctx); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	plans, err := gather(ctx, n.group, "plans", mine)
	if err != nil {
		return nil, n.explainLoss(err)
	}
	if err := compare(plans, n.names()); err != nil {
		n.leave(ctx)
		return nil, err
	}
	if err := n.findRanks(ctx, c.Count*mine.Workers); err != nil {
		return nil, err
	}
	n.begun = time.Now()
	n.ctx, n.end = context.WithCancelCause(context.WithoutCancel(ctx))
	n.tasks.Go(n.listen)
	return n, nil
}

// join enters the nodes' rendezvous, which node 0 opens.
func (n *Nodes) join(ctx context.Context) error {
	host, err := os.Hostname()
	if err != nil {
		return fmt.Errorf("looking up the host's name: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, n.config.JoinTimeout)
	defer cancel()
	target := n.config.address()
	if n.config.Rank == 0 {
		if target, err = n.serve(ctx); err != nil {
			return err
		}
	}
	n.config.Logger.Info("waiting for the other nodes", zap.String("at", n.config.address()),
		zap.Int("node", n.config.Rank), zap.Int("of", n.config.Count))
	who := rendezvous.Member{Rank: n.config.Rank, WorldSize: n.config.Count, Host: host, PID: os.Getpid()}
	n.group, err = rendezvous.Join(ctx, target, who,
		rendezvous.Options{Token: n.config.Token, TLS: n.config.TLS, Logger: n.config.Logger})
	return n.explainJoin(err)
}

// findRanks opens the ranks' rendezvous on node 0 and sends its address to the others.
func (n *Nodes) findRanks(ctx context.Context, world int) error {
	var mine []byte
	if n.config.Rank == 0 {
		theirs, err := n.serveRanks(world)
		if err == nil {
			mine, err = json.Marshal(theirs)
		}
		if err != nil {
			return errors.Join(err, n.group.Fail(ctx, err))
		}
	}
	data, err := n.group.Broadcast(ctx, "ranks", 0, mine)
	switch {
	case err != nil:
		return n.explainLoss(err)
	case n.config.Rank == 0:
		return nil // serveRanks has set the local address
	}
	if err := json.Unmarshal(data, &n.ranksAt); err != nil {
		return fmt.Errorf("reading the address of the ranks' rendezvous from node 0: %w", err)
	}
	return nil
}

// Rank is this node's.
func (n *Nodes) Rank() int { return n.config.Rank }

// Ranks returns the address of the ranks' rendezvous, and its secret.
func (n *Nodes) Ranks() (target, token string) { return n.ranksAt.Target, n.ranksAt.Token }

// Context ends when another node has failed, or is lost; see [Nodes.Lost].
func (n *Nodes) Context() context.Context { return n.ctx }

// Close leaves the job. Without a Conclude before it, the other nodes report this node as
// departed.
func (n *Nodes) Close() error {
	var errs []error
	if n.group != nil {
		errs = append(errs, n.group.Close())
		n.tasks.Wait()
	}
	for _, server := range []*rendezvous.Server{n.ranks, n.meeting} {
		if server != nil {
			errs = append(errs, server.Close())
		}
	}
	return errors.Join(errs...)
}

// leaveTimeout bounds the wait of nodes for each other after their last exchange.
const leaveTimeout = 5 * time.Second

// leave waits until all nodes have received their last answers, and leaves. Before that
// node 0 must not close the rendezvous.
func (n *Nodes) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTimeout)
	defer cancel()
	err := errors.Join(n.group.Barrier(ctx, "part"), n.group.Leave(ctx))
	if err != nil { // all that matters has been exchanged
		n.config.Logger.Debug("leaving the other nodes", zap.Error(err))
	}
}

// gather returns every node's value, by rank.
func gather[T any](ctx context.Context, g *rendezvous.Group, name string, mine T) ([]T, error) {
	data, err := json.Marshal(mine)
	if err != nil {
		return nil, fmt.Errorf("gathering the nodes' %s: %w", name, err)
	}
	all, err := g.AllGather(ctx, name, data)
	if err != nil {
		return nil, fmt.Errorf("gathering the nodes' %s: %w", name, err)
	}
	values := make([]T, len(all))
	for node, data := range all {
		if err := json.Unmarshal(data, &values[node]); err != nil {
			return nil, fmt.Errorf("gathering the nodes' %s: reading what node %d sent: %w", name, node, err)
		}
	}
	return values, nil
}
