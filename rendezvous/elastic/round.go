package elastic

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"

	pb "gpurun/rendezvous/elastic/v1"
)

// Round is a group of nodes that run workers together.
type Round struct {
	Place

	session *session
	ctx     context.Context
	end     context.CancelCauseFunc

	master net.Listener   // this node's; nil when it is given away
	probes *probeAcceptor // while the round has yet to begin, on group rank 0

	mu      sync.Mutex
	gathers map[string]chan gathered

	told messages
}

// gathered is the outcome of an all-gather.
type gathered struct {
	data [][]byte
	err  error
}

func newRound(s *session, place Place, master net.Listener) *Round {
	r := &Round{Place: place, session: s, master: master, gathers: map[string]chan gathered{}, told: newMessages()}
	r.ctx, r.end = context.WithCancelCause(s.ctx)
	return r
}

// Context ends when this node's workers must stop. Its cause is a *Restart when
// the agent is to ask for the next round, and otherwise why the job is over:
// an *End, or ErrServerGone.
func (r *Round) Context() context.Context { return r.ctx }

// Master is, on group rank 0, the listener at the round's Master address: the
// other nodes have reached it. The caller owns it: it serves the workers'
// store on it, or closes it just before the workers start, so that one of them
// can. On other nodes it is nil.
func (r *Round) Master() net.Listener { return r.master }

// begin is called when all nodes have confirmed. Only group rank 0 keeps its
// listener.
func (r *Round) begin() error {
	if r.probes == nil {
		return r.closeMaster()
	}
	master, err := r.probes.stop()
	r.probes, r.master = nil, master
	return err
}

// abandon gives up a round that has not begun.
func (r *Round) abandon() {
	_ = r.closeMaster() // nobody had come to rely on it
	if r.probes != nil {
		<-r.probes.done
	}
}

func (r *Round) closeMaster() error {
	if r.master == nil {
		return nil
	}
	err := r.master.Close()
	r.master = nil
	return err
}

// Gather is an all-gather among the round's nodes: it returns what each of
// them passed, by group rank. Name tells gathers that are open at the same
// time apart. It ends with the round's context, or, by the server, when not all
// nodes have come within the read timeout.
func (r *Round) Gather(ctx context.Context, name string, data []byte) ([][]byte, error) {
	answer := make(chan gathered, 1)
	r.mu.Lock()
	if r.gathers[name] != nil {
		r.mu.Unlock()
		return nil, fmt.Errorf("gathering %q from all nodes: another gather of that name is open", name)
	}
	r.gathers[name] = answer
	r.mu.Unlock()
	err := r.session.send(&pb.AttendRequest{What: &pb.AttendRequest_Contribution{
		Contribution: &pb.Contribution{Round: int32(r.Number), Name: name, Data: data},
	}})
	if err != nil {
		return nil, fmt.Errorf("gathering %q from all nodes: %w", name, err)
	}
	select {
	case g := <-answer:
		if g.err != nil {
			return nil, fmt.Errorf("gathering %q from all nodes: %w", name, g.err)
		}
		return g.data, nil
	case <-r.ctx.Done():
		return nil, fmt.Errorf("gathering %q from all nodes: %w", name, context.Cause(r.ctx))
	case <-ctx.Done():
		return nil, fmt.Errorf("gathering %q from all nodes: %w", name, context.Cause(ctx))
	}
}

// deliver passes the outcome of a gather to the Gather call that waits for it.
func (r *Round) deliver(name string, g gathered) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if answer := r.gathers[name]; answer != nil {
		answer <- g
		delete(r.gathers, name)
	}
}

// Fail tells the other nodes that this node's workers have failed, and waits for
// what becomes of the job: nil when the group restarts, so that the agent asks
// for the next round, and otherwise the *End, whose Failure is the first that
// was fatal, or ErrServerGone.
func (r *Round) Fail(ctx context.Context, failure Failure) error {
	if err := r.await(ctx, r.Announce(failure)); !errors.As(err, new(*Restart)) {
		return err
	}
	return nil
}

// Announce is the first half of Fail, for an agent whose other workers have yet to
// end: the other nodes stop theirs meanwhile. Fail then tells them nothing new.
func (r *Round) Announce(failure Failure) error {
	return r.session.send(&pb.AttendRequest{What: &pb.AttendRequest_Failure{
		Failure: &pb.Failure{Round: int32(r.Number), Reason: valid(failure.Reason), ExitCode: int32(failure.ExitCode)},
	}})
}

// Finish tells the other nodes that this node's workers have succeeded, and
// waits until all have, so that the agents leave together. A *Restart says that
// the group had to restart before this was known: the agent asks for the next
// round. Any other error says why the agents did not leave together, and
// should not fail this one. An agent that serves the others waits for as long as
// they take.
func (r *Round) Finish(ctx context.Context) error {
	err := r.session.send(&pb.AttendRequest{What: &pb.AttendRequest_Finish{Finish: &pb.Finish{Round: int32(r.Number)}}})
	err = r.await(ctx, err)
	end := new(End)
	if !errors.As(err, &end) {
		return err
	}
	switch over := r.session.backend.over(); {
	case end.Kind == Finished:
		return nil
	case end.Kind == TimedOut && over != nil: // without this agent the others would fail
		select {
		case <-over:
		case <-ctx.Done():
		}
	}
	return err
}

// await returns why the round ended.
func (r *Round) await(ctx context.Context, sent error) error {
	if sent != nil {
		return sent
	}
	ctx, cancel := context.WithTimeout(ctx, r.session.config.Timeouts.Exit+r.session.config.Timeouts.keepAlive())
	defer cancel()
	select {
	case <-r.ctx.Done():
		return context.Cause(r.ctx)
	case <-ctx.Done():
		return fmt.Errorf("waiting for the other nodes: %w", context.Cause(ctx))
	}
}
