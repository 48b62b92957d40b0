// Package peers connects a rank with the other ranks of its job: the ranks join and leave
// together, wait for each other, and exchange data and file descriptors. Every wait is
// bounded.
package peers

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"go.uber.org/zap"

	"gpurun/rendezvous"
	"gpurun/rendezvous/fdpass"
	"gpurun/rendezvous/transport"
	"gpurun/worker/result"
	"gpurun/worker/status"
)

// slack is what a wait for peers gets on top of the job's timeout: a kernel's own timeout,
// which names the peer that it missed, comes first.
const slack = 2 * time.Second

// Options say which rank this is, and how it reaches its peers.
type Options struct {
	Rank, WorldSize int
	// LocalRank and LocalWorldSize count the ranks of this machine alone.
	LocalRank, LocalWorldSize int
	// Target and Token lead to the rendezvous.
	Target, Token string
	TLS           *transport.TLS // nil: plain text
	// Files is the socket through which descriptors travel to the local peers. It
	// belongs to the Peers.
	Files *os.File
	// Timeout bounds every wait for another rank.
	Timeout time.Duration
	// SpansMachines: some peers are on other machines.
	SpansMachines bool
	Logger        *zap.Logger
	// Steps is told of waits for peers.
	Steps *status.Steps
}

// Peers are the ranks of the job, as one of them reaches them.
type Peers struct {
	options Options
	host    string
	files   *fdpass.Peer
	group   *rendezvous.Group // nil: Join has not succeeded
}

// Open opens the descriptor socket. The caller closes what it returns.
func Open(o Options) (*Peers, error) {
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("looking up the host's name: %w", err)
	}
	files, err := fdpass.Open(o.Files, o.LocalRank, o.LocalWorldSize)
	if err != nil {
		return nil, fmt.Errorf("opening the descriptor socket: %w", err)
	}
	return &Peers{options: o, host: host, files: files}, nil
}

// Join waits until all ranks are in the rendezvous. The other methods, except Fail and
// Close, may only be called after it.
func (p *Peers) Join(ctx context.Context) (err error) {
	ctx, cancel := p.Within(ctx)
	defer cancel()
	o := p.options
	defer o.Steps.Enter("joining the rendezvous")()
	member := rendezvous.Member{
		Rank: o.Rank, LocalRank: o.LocalRank, WorldSize: o.WorldSize, Host: p.host, PID: os.Getpid(),
	}
	p.group, err = rendezvous.Join(ctx, o.Target, member, rendezvous.Options{Token: o.Token, TLS: o.TLS, Logger: o.Logger})
	if err != nil {
		return fmt.Errorf("joining the rendezvous: %w", err)
	}
	return nil
}

// UntilDeparture ends with ctx or, with the cause, when another rank departs. The caller
// calls stop in the end.
func (p *Peers) UntilDeparture(ctx context.Context) (_ context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	unlink := context.AfterFunc(p.group.Context(), func() { cancel(context.Cause(p.group.Context())) })
	return ctx, func() {
		unlink()
		cancel(nil)
	}
}

// Processes are those of all ranks, by rank.
func (p *Peers) Processes() []result.Process {
	all := make([]result.Process, p.options.WorldSize)
	for rank, m := range p.group.Members() {
		all[rank] = result.Process{Host: m.Host, PID: m.PID}
	}
	return all
}

// Fail tells the peers on other machines why this rank fails. Those on this machine hear
// of the failure from the agent.
func (p *Peers) Fail(ctx context.Context, reason error) {
	if p.group == nil || !p.options.SpansMachines {
		return
	}
	if err := p.group.Fail(context.WithoutCancel(ctx), fmt.Errorf("on %s: %w", p.host, reason)); err != nil {
		p.options.Logger.Debug("telling the peers of a failure", zap.Error(err))
	}
}

// Leave parts from the peers, in step with them.
func (p *Peers) Leave(ctx context.Context) error {
	defer p.options.Steps.Enter("leaving in step with all ranks")()
	if err := p.group.Leave(ctx); err != nil {
		return fmt.Errorf("leaving the rendezvous: %w", err)
	}
	return nil
}

// Close closes the connections, also those of a rank that has not left.
func (p *Peers) Close() error {
	var err error
	if p.group != nil {
		err = p.group.Close()
	}
	return errors.Join(err, p.files.Close())
}
