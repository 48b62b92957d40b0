// Package nodes lets the agents of several machines begin a job together, and
// end it together.
//
//	node 0                                every other node
//	serve the nodes' rendezvous  <------  join it, once it is up
//	                  all tell what they are about to run, and compare
//	serve the ranks' rendezvous  ------>  learn where that is, and its secret
//	                  all run their own ranks; a node that fails tells the others, which
//	                  ends their Context, as does a node that is gone
//	                  all tell how their ranks ended; the first cause counts
//
// The user's token stays with the agents: the ranks' rendezvous has a secret of
// its own, made anew for each run. Without TLS both travel in the clear; whatever
// the ranks send each other by NCCL or NVSHMEM always does.
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
	// Addr and Port are where node 0 serves the rendezvous, and how all others
	// reach it.
	Addr string
	Port int
	// Token is the job's secret; beyond loopback it must not be empty without TLS.
	Token string
	TLS   *transport.TLS // for servers with node 0's name; nil: plain text
	// JoinTimeout bounds the wait for all nodes to come, and Timeout any later
	// one.
	JoinTimeout, Timeout time.Duration
	Logger               *zap.Logger
}

// address is node 0's, as all nodes are told it.
func (c Config) address() string { return net.JoinHostPort(c.Addr, strconv.Itoa(c.Port)) }

// Nodes are the machines of a job that has begun, as one of them sees them.
type Nodes struct {
	config Config
	begun  time.Time // on all nodes about the same moment
	group  *rendezvous.Group
	place  place
	// ctx is what Context returns, and tasks are to end with the group.
	ctx   context.Context
	end   context.CancelCauseFunc
	tasks sync.WaitGroup
	// Node 0 serves both.
	meeting, ranks *rendezvous.Server
}

// place is where the ranks meet.
type place struct {
	Target string `json:"target"`
	Token  string `json:"token"`
}

// Meet waits for all nodes and compares what they are about to run. The caller
// closes the Nodes.
//
// Errors: *Disagreement, *Unfit, and whatever keeps the nodes from meeting.
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
		n.part(ctx)
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
	n.group, err = rendezvous.Join(ctx, target, who, rendezvous.Options{Token: n.config.Token, TLS: n.config.TLS, Logger: n.config.Logger})
	return n.explainJoin(err)
}

// findRanks opens the ranks' rendezvous on node 0 and tells the others of it.
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
		return nil // it has an address of its own
	}
	if err := json.Unmarshal(data, &n.place); err != nil {
		return fmt.Errorf("reading from node 0 where the ranks meet: %w", err)
	}
	return nil
}

// Rank is this node's.
func (n *Nodes) Rank() int { return n.config.Rank }

// Ranks is the rendezvous of the job's ranks, and its secret.
func (n *Nodes) Ranks() (target, token string) { return n.place.Target, n.place.Token }

// Context ends when another node has failed, or is gone; see [Nodes.Lost].
func (n *Nodes) Context() context.Context { return n.ctx }

// Close ends this node's part. Without a Conclude before it, the other nodes see
// a departure.
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

// partTimeout bounds the wait of nodes for each other when all has been said.
const partTimeout = 5 * time.Second

// part waits until all nodes have got their answers, so that node 0 does not
// close the rendezvous on one that is on its way, and says goodbye.
func (n *Nodes) part(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), partTimeout)
	defer cancel()
	err := errors.Join(n.group.Barrier(ctx, "part"), n.group.Leave(ctx))
	if err != nil { // what counts has been said
		n.config.Logger.Debug("parting from the other nodes", zap.Error(err))
	}
}

// gather returns what every node passed, by rank.
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
