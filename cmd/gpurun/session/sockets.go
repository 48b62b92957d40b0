package session

import (
	"context"
	"os"

	"gpurun/rendezvous/fdpass"
)

// sockets are the local workers' socket pairs for file descriptors, and the
// relay between them.
type sockets struct {
	workers []*os.File
	stop    context.CancelFunc
	relayed chan struct{} // closed when the relay has ended
}

// newSockets opens the sockets. fail is called when a descriptor cannot be passed on.
func newSockets(ranks int, fail func(error)) (*sockets, error) {
	relay := fdpass.NewRelay()
	relay.Failed = fail
	s := &sockets{relayed: make(chan struct{})}
	for rank := range ranks {
		agentEnd, workerEnd, err := fdpass.Pair()
		if err == nil {
			s.workers = append(s.workers, workerEnd)
			err = relay.Add(rank, agentEnd)
		}
		if err != nil {
			relay.Close()
			s.closeWorkers()
			return nil, err
		}
	}
	ctx, stop := context.WithCancel(context.Background())
	s.stop = stop
	go func() {
		defer close(s.relayed)
		_ = relay.Run(ctx) // fail has been called
	}()
	return s, nil
}

// worker hands one worker's end out, once; agent.Spec.ExtraFiles wants it so.
func (s *sockets) worker(localRank int) ([]*os.File, error) {
	file := s.workers[localRank]
	s.workers[localRank] = nil
	return []*os.File{file}, nil
}

func (s *sockets) closeWorkers() {
	for _, file := range s.workers {
		if file != nil {
			file.Close()
		}
	}
}

// close ends the relay.
func (s *sockets) close() {
	s.closeWorkers()
	s.stop()
	<-s.relayed
}
