package elastic

import (
	"context"
	"fmt"
	"sync"
	"time"

	"go.uber.org/zap"

	"gpurun/rendezvous/elastic/etcd"
)

// resignTimeout bounds the calls to etcd at the end of a term.
const resignTimeout = 2 * time.Second

// term is the time for which this agent serves.
type term struct {
	server  *server
	lease   etcd.LeaseID
	target  string
	stop    context.CancelFunc // of the renewals
	renewal sync.WaitGroup
	once    sync.Once
	err     error
}

// close ends the term's server, once.
func (t *term) close(reason string) {
	t.once.Do(func() { t.err = t.server.close(reason) })
}

// resign ends this agent's term, and lets another be elected at once.
func (e *election) resign(why string) error {
	t := e.term
	e.term = nil
	e.announceEnd(t)
	t.close(fmt.Sprintf("the agent on %s, which served the rendezvous, has left: %s", e.config.hostName, why))
	t.stop()
	t.renewal.Wait()
	e.revoke(t.lease)
	return t.err
}

// announceEnd keeps nodes that are late from beginning the job anew, for as
// long as it may take all agents to hear of the end.
func (e *election) announceEnd(t *term) {
	end := t.server.ended()
	if end == nil || end.Kind == Moved {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), resignTimeout)
	defer cancel()
	lease, err := e.etcd.Grant(ctx, e.config.Timeouts.Close)
	if err == nil {
		_, err = e.etcd.Create(ctx, e.key("closed"), end.Reason, lease)
	}
	if err != nil {
		e.config.Logger.Warn("telling etcd that the job is over", zap.Error(err))
	}
}

// revoke revokes a lease. If that fails, the lease expires.
func (e *election) revoke(lease etcd.LeaseID) {
	if lease == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), resignTimeout)
	defer cancel()
	if err := e.etcd.Revoke(ctx, lease); err != nil {
		e.config.Logger.Debug("giving up a lease", zap.Error(err))
	}
}
