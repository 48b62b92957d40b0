// Package request lets another process of the user ask an agent for a dump, by an abstract Unix socket whose name has
// the agent's process ID. Such a socket has no file, and vanishes with the agent.
package request

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"gpurun/worker/process/agent"
)

// answerBound is how long a request waits for its page: the time of a dump, and that of a dump before it.
const answerBound = 2*agent.DumpTimeout + time.Second

// Listener receives requests for this process.
type Listener struct {
	socket   net.Listener
	requests chan agent.DumpRequest
	done     chan struct{}
	serving  sync.WaitGroup
}

// socketName is the same for a process in all PID namespaces that share its network namespace only if it has the same
// ID in them; elsewhere a request is not answered.
func socketName(pid int) string { return fmt.Sprintf("@gpurun-dump-%d", pid) }

// Listen begins to receive requests.
func Listen() (*Listener, error) {
	socket, err := net.Listen("unix", socketName(os.Getpid()))
	if err != nil {
		return nil, fmt.Errorf("listening for gpurun dump: %w", err)
	}
	l := &Listener{socket: socket, requests: make(chan agent.DumpRequest), done: make(chan struct{})}
	l.serving.Go(func() {
		for {
			conn, err := socket.Accept()
			if err != nil {
				return
			}
			l.serving.Go(func() { l.serve(conn) })
		}
	})
	return l, nil
}

// Requests are those that came.
func (l *Listener) Requests() <-chan agent.DumpRequest { return l.requests }

// Close ends the receiving.
func (l *Listener) Close() error {
	close(l.done)
	err := l.socket.Close()
	l.serving.Wait()
	return err
}

// serve passes one request on, and its page back.
func (l *Listener) serve(conn net.Conn) {
	defer conn.Close()
	peer, err := credentials(conn)
	if err != nil || int(peer.Uid) != os.Geteuid() && peer.Uid != 0 {
		return
	}
	page := make(chan []byte, 1)
	request := agent.DumpRequest{
		Reason: fmt.Sprintf("gpurun dump (pid %d) has asked for it", peer.Pid), Page: func(text []byte) { page <- text },
	}
	bound := time.NewTimer(answerBound)
	defer bound.Stop()
	select {
	case l.requests <- request:
	case <-bound.C:
		return
	case <-l.done:
		return
	}
	select {
	case text := <-page:
		_ = conn.SetWriteDeadline(time.Now().Add(time.Second))
		_, _ = conn.Write(text) // a reader that is gone misses nothing
	case <-bound.C:
	case <-l.done:
	}
}

// Ask asks an agent for a dump, and returns the page.
func Ask(ctx context.Context, agentPID int) ([]byte, error) {
	return ask(ctx, socketName(agentPID), agentPID)
}

func ask(ctx context.Context, socket string, agentPID int) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, answerBound+time.Second)
	defer cancel()
	conn, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, fmt.Errorf("gpurun (pid %d) does not take requests for dumps here: %w; it must run a program or a "+
			"collective, in the same network namespace", agentPID, err)
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if peer, err := credentials(conn); err != nil || int(peer.Pid) != agentPID {
		return nil, errors.Join(fmt.Errorf("the process that listens is not gpurun's agent (pid %d)", agentPID), err)
	}
	page, err := io.ReadAll(conn)
	if errors.Is(err, unix.ECONNRESET) { // its listener has closed with this connection not yet accepted
		return nil, fmt.Errorf("gpurun (pid %d) is ending, and takes no more requests for dumps", agentPID)
	}
	if err != nil {
		return nil, fmt.Errorf("waiting for the page of gpurun (pid %d): %w", agentPID, err)
	}
	if len(page) == 0 {
		return nil, fmt.Errorf("gpurun (pid %d) has sent no page: it runs no workers at the moment, or belongs to another "+
			"user", agentPID)
	}
	return page, nil
}

// credentials asks the kernel who is at the other end.
func credentials(conn net.Conn) (*unix.Ucred, error) {
	socket, ok := conn.(*net.UnixConn)
	if !ok {
		return nil, fmt.Errorf("a %T is not a Unix socket", conn)
	}
	raw, err := socket.SyscallConn()
	if err != nil {
		return nil, err
	}
	var peer *unix.Ucred
	var peerErr error
	if err := raw.Control(func(fd uintptr) {
		peer, peerErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return nil, err
	}
	return peer, peerErr
}
