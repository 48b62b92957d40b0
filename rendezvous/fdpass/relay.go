package fdpass

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
)

// maxQueued is how many messages may wait for a worker that does not read.
const maxQueued = 1024

// Relay is the agent's part: it forwards each message of a worker, with its
// file descriptor, to all other workers.
type Relay struct {
	// Failed, if set before Run, is told at once of a worker that the relay
	// drops and why, which Run returns only at the end: the others wait for
	// what the worker sent.
	Failed func(error)

	ports []*port
}

// port is a worker as the relay sees it.
type port struct {
	rank  int
	conn  *net.UnixConn
	queue chan *parcel
	gone  chan struct{} // closed when the worker takes no more messages
	once  sync.Once
	fault error // why the relay dropped the worker; to be read after gone
	relay *Relay
}

// parcel is a message on its way to several workers; the last one closes the
// file.
type parcel struct {
	header  header
	file    *os.File
	holders atomic.Int32
}

func (p *parcel) release() {
	if p.holders.Add(-1) == 0 {
		_ = p.file.Close() // a descriptor that was only passed on
	}
}

// NewRelay returns a relay without workers.
func NewRelay() *Relay { return &Relay{} }

// Add registers a worker by the agent's end of its pair, which the relay owns
// from then on, also when there is an error. All workers are added before Run.
func (r *Relay) Add(rank int, agentEnd *os.File) error {
	conn, err := unixConn(agentEnd)
	if err != nil {
		return fmt.Errorf("relaying file descriptors of rank %d: %w", rank, err)
	}
	for _, p := range r.ports {
		if p.rank == rank {
			return errors.Join(fmt.Errorf("relaying file descriptors: rank %d twice", rank), conn.Close())
		}
	}
	r.ports = append(r.ports, &port{
		rank:  rank,
		conn:  conn,
		queue: make(chan *parcel, maxQueued),
		gone:  make(chan struct{}),
		relay: r,
	})
	return nil
}

// Run forwards until ctx ends or all workers have closed their ends, and then
// closes everything. A worker that breaks the protocol or does not read is
// dropped and named in the error; the others go on.
func (r *Relay) Run(ctx context.Context) error {
	stop := context.AfterFunc(ctx, r.disconnect)
	defer stop()

	var writers sync.WaitGroup
	for _, p := range r.ports {
		writers.Go(p.write)
	}
	r.readAll()
	for _, p := range r.ports {
		close(p.queue)
	}
	writers.Wait()
	r.disconnect()
	return r.faults()
}

// Close ends Run, or releases the workers of a relay that is never run.
func (r *Relay) Close() { r.disconnect() }

func (r *Relay) disconnect() {
	for _, p := range r.ports {
		p.drop(nil)
	}
}

// faults joins the errors of the workers that were dropped, by order of Add.
func (r *Relay) faults() error {
	var errs []error
	for _, p := range r.ports {
		if p.fault != nil {
			errs = append(errs, p.fault)
		}
	}
	return errors.Join(errs...)
}

// readAll reads all workers' messages until none of them can send any more.
func (r *Relay) readAll() {
	var readers sync.WaitGroup
	for _, p := range r.ports {
		readers.Go(func() { r.read(p) })
	}
	readers.Wait()
}

func (r *Relay) read(from *port) {
	for {
		h, file, err := receive(from.conn)
		if hungUp(err) {
			return
		}
		if err == nil && h.rank != from.rank {
			err = errors.Join(fmt.Errorf("%w: it calls itself rank %d", errMessage, h.rank), file.Close())
		}
		if err != nil {
			from.drop(err)
			return
		}
		r.forward(from, h, file)
	}
}

// hungUp says that a worker has closed its end, or died, or was dropped.
func hungUp(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, net.ErrClosed) || errors.Is(err, syscall.ECONNRESET)
}

// forward never waits: a worker whose queue is full does not read, and is
// dropped.
func (r *Relay) forward(from *port, h header, file *os.File) {
	p := &parcel{header: h, file: file}
	p.holders.Store(int32(len(r.ports)))
	for _, to := range r.ports {
		if to == from || !to.offer(p) {
			p.release()
		}
	}
}

func (p *port) offer(parcel *parcel) bool {
	select {
	case <-p.gone:
		return false
	default:
	}
	select {
	case p.queue <- parcel:
		return true
	default:
		p.drop(fmt.Errorf("does not read: %d messages wait for it", maxQueued))
		return false
	}
}

// write sends what is queued, until the queue is closed and empty.
func (p *port) write() {
	for parcel := range p.queue {
		select {
		case <-p.gone:
		default:
			if err := send(p.conn, parcel.header, parcel.file); err != nil {
				p.drop(nil) // the worker has gone, which is its own business
			}
		}
		parcel.release()
	}
}

// drop ends the connection to a worker.
func (p *port) drop(fault error) {
	p.once.Do(func() {
		if fault != nil {
			p.fault = fmt.Errorf("file descriptors of rank %d: %w", p.rank, fault)
			if p.relay.Failed != nil {
				p.relay.Failed(p.fault)
			}
		}
		close(p.gone)
		_ = p.conn.Close()
	})
}
