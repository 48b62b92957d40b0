package elastic

import (
	"context"
	"net"

	pb "gpurun/rendezvous/elastic/v1"
)

// joining is a wait for the next round.
type joining struct {
	master net.Listener // nil once a round has it
	result chan joined  // never full
}

type joined struct {
	round *Round
	err   error
}

// assembled makes sure that the master of a new round can be reached, on all
// nodes but the master itself.
func (s *session) assembled(place Place) {
	if s.join == nil {
		return // the agent has given up waiting
	}
	s.round = newRound(s, place, s.join.master)
	s.join.master = nil
	if place.GroupRank == 0 {
		s.round.probes = acceptProbes(s.round.master)
		s.confirm(place.Number, nil)
		return
	}
	round := s.round
	// A master that has died is missed, and its round over, before this gives up.
	timeout := s.config.Timeouts.keepAlive() + s.config.Timeouts.KeepAliveInterval
	s.tasks.Go(func() {
		err := probe(round.ctx, place.Master, timeout)
		if round.ctx.Err() == nil {
			s.confirm(place.Number, err)
		}
	})
}

func (s *session) confirm(round int, err error) {
	confirm := &pb.Confirm{Round: int32(round)}
	if err != nil {
		confirm.Failure = valid(err.Error())
	}
	// A failed send means that the stream has ended; read sees why.
	_ = s.send(&pb.AttendRequest{What: &pb.AttendRequest_Confirm{Confirm: confirm}})
}

// begun hands a round to the agent.
func (s *session) begun(round int) {
	if !s.isCurrent(round) {
		return
	}
	if err := s.round.begin(); err != nil {
		s.end(err)
		s.cancel()
		return
	}
	s.answerJoin(joined{round: s.round})
}

// stopped ends a round.
func (s *session) stopped(round int, why *Restart) {
	if s.isCurrent(round) {
		s.round.end(why)
		s.answerJoin(joined{err: why})
	}
}

// answerJoin ends the wait for a round, and without one what was made for it.
func (s *session) answerJoin(j joined) {
	if s.join == nil {
		return
	}
	if j.err != nil {
		if s.join.master != nil {
			_ = s.join.master.Close() // nobody had come to rely on it
		} else {
			s.round.abandon()
		}
	}
	s.join.result <- j
	s.join = nil
}

// next joins and waits for a round. It owns the listener.
func (s *session) next(ctx context.Context, join *pb.Join, master net.Listener) (*Round, error) {
	wait := &joining{master: master, result: make(chan joined, 1)}
	s.mu.Lock()
	s.join = wait
	if s.ctx.Err() != nil {
		s.answerJoin(joined{err: context.Cause(s.ctx)})
	}
	s.mu.Unlock()
	if err := s.send(&pb.AttendRequest{What: &pb.AttendRequest_Join{Join: join}}); err != nil {
		s.end(s.backend.lost(fromStatus(err)))
		s.cancel()
	}
	select {
	case j := <-wait.result:
		return j.round, j.err
	case <-ctx.Done():
		s.end(context.Cause(ctx)) // the server will see it go
		s.cancel()
		j := <-wait.result
		return j.round, j.err
	}
}
