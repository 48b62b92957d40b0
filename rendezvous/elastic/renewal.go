package elastic

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.uber.org/zap"

	"gpurun/rendezvous/elastic/etcd"
)

// renew keeps the lease until the term ends.
//
// While etcd does not answer, the members stay as they are, and workers that are healthy go on. The term is suspended
// before the lease can expire, so that no other agent's term begins earlier. When etcd answers again and the lease has
// expired, this agent takes another one, unless another agent was elected meanwhile: then its own term is over.
func (e *election) renew(ctx context.Context, t *term, renewed time.Time) {
	ttl := e.config.Timeouts.keepAlive()
	timer := time.NewTimer(ttl / 3)
	defer timer.Stop()
	suspended := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
		}
		asked := time.Now()
		err := e.keepLease(ctx, t, ttl)
		switch {
		case ctx.Err() != nil:
			return
		case err == nil:
			renewed = asked
			if suspended {
				suspended = false
				e.config.Logger.Warn("etcd answers again: nodes can join and leave")
				t.server.resume()
			}
		case errors.Is(err, errElected):
			e.config.Logger.Warn("no longer serving the rendezvous", zap.Error(err))
			t.close(fmt.Sprintf("the agent on %s, which served the rendezvous, lost its lease in etcd", e.config.hostName))
			return
		case !suspended && time.Since(renewed) >= ttl/3:
			suspended = true
			t.server.suspend()
			e.config.Logger.Warn("etcd does not answer: the workers go on, and nodes that join or restart wait for etcd",
				zap.Error(err))
		}
		if suspended {
			timer.Reset(min(ttl/3, electEvery))
		} else {
			timer.Reset(ttl / 3)
		}
	}
}

// errElected says that another agent serves the job.
var errElected = errors.New("another agent was elected")

// keepLease renews the lease once, or takes another one if it has expired.
func (e *election) keepLease(ctx context.Context, t *term, ttl time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, ttl/3)
	defer cancel()
	err := e.etcd.KeepAlive(ctx, t.lease)
	if !errors.Is(err, etcd.ErrLease) {
		return err
	}
	lease, err := e.etcd.Grant(ctx, ttl)
	if err != nil {
		return err
	}
	won, err := e.etcd.Create(ctx, e.key("server"), t.target, lease)
	if err == nil && !won {
		// An earlier attempt, whose answer was lost, may have created it.
		var target string
		if target, won, err = e.etcd.Get(ctx, e.key("server")); won && target != t.target {
			err = errElected
		} else if err == nil {
			err = errors.New("the lease of an earlier attempt has yet to expire")
		}
	}
	if err != nil {
		e.revoke(lease)
		return err
	}
	t.lease = lease
	return nil
}
