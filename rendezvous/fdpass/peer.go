package fdpass

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"gpurun/rendezvous/membership"
)

// Bounds of a Peer.
const (
	DefaultTimeout = 2 * time.Minute // of an AllGather whose context has no deadline
	maxArrived     = 1024            // messages for AllGathers that are still to come
)

// Peer is a worker's part. It is not safe for concurrent use.
type Peer struct {
	conn      *net.UnixConn
	rank      int
	worldSize int
	sequences map[string]uint64 // uses of each name
	arrived   map[header]*os.File
}

// Open takes over the worker's end of a pair. Rank and world size count the
// workers of this host, all of which the relay connects. The caller closes
// the Peer.
func Open(workerEnd *os.File, rank, worldSize int) (*Peer, error) {
	conn, err := unixConn(workerEnd)
	if err != nil {
		return nil, fmt.Errorf("opening the file descriptor socket of rank %d: %w", rank, err)
	}
	if worldSize < 1 || worldSize > MaxRanks || rank < 0 || rank >= worldSize {
		err := fmt.Errorf("passing file descriptors as rank %d of %d: want at most %d ranks", rank, worldSize, MaxRanks)
		return nil, errors.Join(err, conn.Close())
	}
	return &Peer{
		conn:      conn,
		rank:      rank,
		worldSize: worldSize,
		sequences: map[string]uint64{},
		arrived:   map[header]*os.File{},
	}, nil
}

// AllGather sends mine to all others and returns theirs by rank; the own entry
// is nil. All workers must call it, each its nth use of a name together with
// the others' nth. The caller closes the files, and still owns mine.
//
// When the deadline passes, the error is a *membership.Straggler. After an
// error the Peer is of no more use than to be closed.
func (p *Peer) AllGather(ctx context.Context, name string, mine *os.File) ([]*os.File, error) {
	if mine == nil || name == "" || len(name) > MaxNameBytes {
		return nil, fmt.Errorf("passing file descriptors %.20q: want a file and a name of 1 to %d bytes", name, MaxNameBytes)
	}
	ctx, cancel := withDeadline(ctx)
	defer cancel()
	release, err := p.obey(ctx)
	if err != nil {
		return nil, fmt.Errorf("passing file descriptors %q: %w", name, err)
	}
	defer release()

	h := header{rank: p.rank, sequence: p.sequences[name], name: name}
	if err := send(p.conn, h, mine); err != nil {
		return nil, fmt.Errorf("sending file descriptor %q: %w", name, p.explain(ctx, h, err))
	}
	for len(p.missing(h)) > 0 {
		if err := p.receive(); err != nil {
			return nil, fmt.Errorf("receiving file descriptors %q: %w", name, p.explain(ctx, h, err))
		}
	}
	p.sequences[name]++
	return p.take(h), nil
}

// Close closes the socket and what has arrived without being asked for.
func (p *Peer) Close() error {
	err := p.conn.Close()
	for _, file := range p.arrived {
		err = errors.Join(err, file.Close())
	}
	clear(p.arrived)
	return err
}

// withDeadline gives a context a deadline if it has none.
func withDeadline(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, DefaultTimeout)
}

// obey makes the socket's reads and writes end with ctx.
func (p *Peer) obey(ctx context.Context) (release func(), err error) {
	if err := p.conn.SetDeadline(time.Time{}); err != nil {
		return nil, err
	}
	finished := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(finished)
		_ = p.conn.SetDeadline(time.Unix(1, 0)) // in the past; fails only on a closed socket
	})
	return func() {
		if !stop() {
			<-finished
		}
	}, nil
}

// receive takes in one message, for whichever AllGather it is.
func (p *Peer) receive() error {
	h, file, err := receive(p.conn)
	if err != nil {
		return err
	}
	if err := p.check(h); err != nil {
		return errors.Join(err, file.Close())
	}
	p.arrived[h] = file
	return nil
}

func (p *Peer) check(h header) error {
	switch {
	case h.rank == p.rank || h.rank >= p.worldSize:
		return fmt.Errorf("%w: it claims to come from rank %d", errMessage, h.rank)
	case h.sequence < p.sequences[h.name] || p.arrived[h] != nil:
		return fmt.Errorf("%w: rank %d sent %q number %d again", errMessage, h.rank, h.name, h.sequence)
	case len(p.arrived) >= maxArrived:
		return fmt.Errorf("%w: more than %d wait; rank %d sent %q", errMessage, maxArrived, h.rank, h.name)
	}
	return nil
}

// missing lists the ranks whose part of an AllGather has not arrived.
func (p *Peer) missing(h header) []int {
	var ranks []int
	for h.rank = range p.worldSize {
		if h.rank != p.rank && p.arrived[h] == nil {
			ranks = append(ranks, h.rank)
		}
	}
	return ranks
}

// take hands out what has arrived for an AllGather.
func (p *Peer) take(h header) []*os.File {
	files := make([]*os.File, p.worldSize)
	for h.rank = range p.worldSize {
		files[h.rank] = p.arrived[h]
		delete(p.arrived, h)
	}
	return files
}

// explain says what a failed read or write means.
func (p *Peer) explain(ctx context.Context, h header, err error) error {
	missing := p.missing(h)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return &membership.Straggler{
			Op: "file descriptors", Name: h.name,
			Missing: missing, Absent: len(missing), WorldSize: p.worldSize,
		}
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case hungUp(err):
		return fmt.Errorf("the agent closed the connection: %w", err)
	}
	return err
}
