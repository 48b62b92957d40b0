package faults

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"syscall"
	"time"
)

// wireFaults are what happens to messages between nodes, and calls without the token.
func wireFaults() []Fault {
	return []Fault{
		{
			Name: "corrupt byte", Does: "A byte changes: of a result in a worker, of a message to a node.",
			Job: corruptJob, Strike: strikeWire(corrupt),
		},
		{
			Name: "truncated message", Does: "The victim gets half a message, and the connection closes.",
			Job: throughProxy, Strike: strikeWire(truncate),
		},
		{
			Name: "wrong token", Does: "Processes without the token of the job call the victim.",
			Job: surviving, Strike: strikeToken,
		},
	}
}

// corruptJob puts a proxy between the nodes. In a worker, a byte of the result is corrupted.
func corruptJob(c Cell) Job {
	if c.Victim == Worker {
		job := shortJob(ranks)
		job.Nodes[0] = append(job.Nodes[0], "--inject", fmt.Sprintf("corrupt:rank=%d,byte=8", rankToHit))
		return job
	}
	return throughProxy(c)
}

// throughProxy is a job of two nodes whose second calls the first by a proxy.
func throughProxy(c Cell) Job {
	job, real := nodesJob(c), "127.0.0.1:"+portOf(c)
	i := slices.Index(job.Nodes[1], real)
	job.Nodes[1][i] = proxyAddress(c)
	job.Before = func(s *Scene) error {
		p, err := newProxy(proxyAddress(c), real)
		if err != nil {
			return err
		}
		s.ends = append(s.ends, p.close)
		s.proxy = p
		return nil
	}
	return job
}

// proxyAddress is not node 0's, whose port it has.
func proxyAddress(c Cell) string { return "127.0.0.2:" + portOf(c) }

// damage is what a proxy does to the next bytes for the victim. It returns what is passed on; false: nothing more is.
type damage func([]byte) ([]byte, bool)

// corrupt flips the highest bit of the first byte: in HTTP/2, of the length of a frame.
func corrupt(p []byte) ([]byte, bool) {
	p[0] ^= 0x80
	return p, true
}

// truncate passes half a message on, and hangs up.
func truncate(p []byte) ([]byte, bool) { return p[:len(p)/2], false }

// strikeWire damages the next message to the victim. In a worker, the job itself has the fault.
func strikeWire(d damage) func(*Scene) error {
	return func(s *Scene) error {
		if s.proxy == nil {
			return nil
		}
		toServer := s.Cell.Victim == Node0
		s.proxy.armed[direction(toServer)].Store(&d)
		if s.Cell.Moment == AtEnd { // then messages are few
			return s.tell(1-s.Cell.Victim.node(), "exit 0")
		}
		return nil
	}
}

// proxy passes bytes between a client and a server, and damages some.
type proxy struct {
	listener net.Listener
	server   string
	armed    [2]atomic.Pointer[damage] // by direction; used once
}

func direction(toServer bool) int {
	if toServer {
		return 1
	}
	return 0
}

func newProxy(address, server string) (*proxy, error) {
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: l, server: server}
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			upstream, err := net.Dial("tcp", server)
			if err != nil { // the server does not listen yet: the client tries again
				client.Close()
				continue
			}
			go p.pass(client, upstream, true)
			go p.pass(upstream, client, false)
		}
	}()
	return p, nil
}

func (p *proxy) close() { p.listener.Close() }

// pass passes bytes on, until one side ends.
func (p *proxy) pass(from, to net.Conn, toServer bool) {
	defer from.Close()
	defer to.Close()
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		bytes, more := buffer[:n], true
		if d := p.armed[direction(toServer)].Swap(nil); d != nil {
			bytes, more = (*d)(bytes)
		}
		if _, err := to.Write(bytes); err != nil || !more {
			return
		}
	}
}

// surviving is a job that the fault does not end: the test has it end well.
func surviving(c Cell) Job {
	if c.Victim == Agent {
		return jobOf(c)
	}
	return nodesJob(c)
}

// strikeToken calls the server of the victim with no token, and with bytes that mean nothing. Then the job ends as
// it would have without.
func strikeToken(s *Scene) error {
	if s.Cell.Victim == Agent {
		if err := s.disturbSockets(); err != nil {
			return err
		}
		time.Sleep(pause)
		return s.End()
	}
	if err := disturb("tcp", "127.0.0.1:"+portOf(s.Cell)); err != nil {
		return err
	}
	args := slices.Clone(s.job.Nodes[1])
	job := s.job
	job.Nodes, job.Env = [][]string{args}, []string{"GPURUN_RDZV_TOKEN=another-token-0123456789"}
	caller := &Scene{Cell: s.Cell, room: s.room, job: job, folder: s.file("caller"), mark: s.mark}
	caller.Cell.Victim = Node0
	if err := caller.start(); err != nil {
		return err
	}
	if err := caller.awaitEnd(0); err != nil {
		return err
	}
	if code := caller.nodes[0].cmd.ProcessState.ExitCode(); code != refusedCode {
		return fmt.Errorf("the caller without the token ended with %d: %s", code, caller.stderr(0))
	}
	if s.Cell.Moment == BeforeJoin { // the third node comes, as it should
		return nil
	}
	return s.finish()
}

const refusedCode = 6

// disturbSockets calls the abstract sockets of the scene.
func (s *Scene) disturbSockets() error {
	names, err := s.sockets()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return errors.New("the job has no abstract socket")
	}
	var errs []error
	for _, name := range names {
		err := disturb("unix", name)
		if err != nil && !errors.Is(err, syscall.ECONNREFUSED) { // not every socket listens
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// disturb sends bytes that mean nothing, and leaves.
func disturb(network, address string) error {
	conn, err := net.Dial(network, address)
	if err != nil {
		return err
	}
	_, _ = conn.Write([]byte("GET / HTTP/1.1\r\n\r\n\x00\xff")) // it may hang up first
	return conn.Close()
}
