package elastic

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"go.uber.org/zap"

	"gpurun/rendezvous/elastic/etcd"
)

// electEvery is the time between attempts to find or become the server.
const electEvery = 500 * time.Millisecond

// incumbentFirst is for how long a candidate waits after etcd failed to answer it. Etcd may have lost the lease of the
// agent that serves; by then that agent has taken another: its attempts time out after a third of ttl (see renew), and
// follow each other by electEvery.
func incumbentFirst(ttl time.Duration) time.Duration { return ttl/3 + 2*electEvery }

// election is a rendezvous that is served by the agent which holds a lease in
// etcd. When it dies, its lease expires, and another agent is elected. What the
// job has been through so far, every agent tells when it joins.
type election struct {
	config Config
	etcd   *etcd.Client
	term   *term // nil: another agent serves
}

func newElection(config Config) (*election, error) {
	client, err := etcd.New(config.Endpoint, config.EtcdTLS)
	if err != nil {
		return nil, err
	}
	return &election{config: config, etcd: client}, nil
}

func (e *election) key(name string) string { return "/gpurun/elastic/" + e.config.RunID + "/" + name }

// find returns the address of the agent that serves, which may become this one.
func (e *election) find(ctx context.Context) (string, error) {
	if e.term != nil { // it has lost itself: whatever was wrong, a new term begins
		if err := e.resign("it had lost its own connection"); err != nil {
			return "", err
		}
	}
	why := errors.New("etcd did not answer in time")
	var mayServe time.Time
	for {
		target, err := e.ask(ctx, time.Now().After(mayServe))
		switch {
		case target != "" || errors.As(err, new(*End)):
			return target, err
		case err == nil:
			why = errors.New("no agent was elected")
		case ctx.Err() == nil: // else it says only that time is up
			why = err
			mayServe = time.Now().Add(incumbentFirst(e.config.Timeouts.keepAlive()))
		}
		e.config.Logger.Debug("looking for the agent that serves the rendezvous", zap.Error(why))
		if cause := pause(ctx, electEvery); cause != nil {
			if !errors.Is(cause, context.DeadlineExceeded) {
				why = cause // such as a signal
			}
			return "", fmt.Errorf("finding the rendezvous by etcd at %s: %w", e.config.Endpoint, why)
		}
	}
}

// ask looks once for an agent that serves. If there is none and this agent may serve, it campaigns.
func (e *election) ask(ctx context.Context, mayServe bool) (string, error) {
	reason, closed, err := e.etcd.Get(ctx, e.key("closed"))
	if err != nil {
		return "", err
	}
	if closed {
		return "", &End{
			Kind: Closed, Reason: fmt.Sprintf("the rendezvous is closed: %s (another job needs another --rdzv-id)", reason),
		}
	}
	target, elected, err := e.etcd.Get(ctx, e.key("server"))
	if err != nil || elected || !mayServe {
		return target, err
	}
	return e.campaign(ctx)
}

// campaign serves the job if no other agent does. It returns no address when
// another was elected in the meantime.
func (e *election) campaign(ctx context.Context) (string, error) {
	host, err := e.ownHost(ctx)
	if err != nil {
		return "", err
	}
	t := &term{}
	if t.server, t.target, err = e.serve(host); err != nil {
		return "", err
	}
	asked := time.Now()
	won := false
	if t.lease, err = e.etcd.Grant(ctx, e.config.Timeouts.keepAlive()); err == nil {
		won, err = e.etcd.Create(ctx, e.key("server"), t.target, t.lease)
	}
	if !won {
		err = errors.Join(err, t.server.close("another agent was elected"))
		e.revoke(t.lease)
		return "", err
	}
	e.config.Logger.Debug("elected to serve the rendezvous", zap.String("at", t.target))
	renewals, stop := context.WithCancel(context.Background())
	t.stop = stop
	t.renewal.Go(func() { e.renew(renewals, t, asked) })
	e.term = t
	return t.target, nil
}

// serve opens a server at a free port of this host.
func (e *election) serve(host string) (*server, string, error) {
	listen, advertised := "", host
	if isLoopback(host) {
		listen, advertised = host, ""
	} else if !e.config.authenticated() {
		return nil, "", fmt.Errorf("serving the rendezvous at %s, beyond loopback: give all nodes the same token, "+
			"or certificates", host)
	}
	l, err := net.Listen("tcp", net.JoinHostPort(listen, "0"))
	if err != nil {
		return nil, "", fmt.Errorf("serving the rendezvous: %w", err)
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return nil, "", errors.Join(err, l.Close())
	}
	s, err := serve(e.config, l, advertised)
	return s, net.JoinHostPort(host, port), err
}

// ownHost is by which host other nodes reach this one: the address from which
// it reaches etcd. If etcd is on this host, that is its name.
func (e *election) ownHost(ctx context.Context) (string, error) {
	if e.config.LocalAddr != "" {
		return e.config.LocalAddr, nil
	}
	first, _, _ := strings.Cut(e.config.Endpoint, ",")
	if !strings.Contains(first, "://") {
		first = "http://" + first
	}
	at, err := url.Parse(first)
	if err != nil {
		return "", fmt.Errorf("etcd endpoint: %w", err)
	}
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", at.Host)
	if err != nil {
		return "", fmt.Errorf("connecting to etcd: %w", err)
	}
	defer conn.Close()
	host, _, err := net.SplitHostPort(conn.LocalAddr().String())
	if err == nil && isLoopback(host) {
		host = at.Hostname()
	}
	return host, err
}

// waits is false: an address that etcd knows is that of a server, or of one
// that has died.
func (e *election) waits() bool { return false }

func (e *election) serves() bool { return e.term != nil }

func (e *election) over() <-chan struct{} {
	if e.term == nil {
		return nil
	}
	return e.term.server.coordinator.over
}

func (e *election) refused() string {
	if e.term == nil {
		return ""
	}
	return e.term.server.refused.String()
}

// lost lets all agents stop their workers and look for another server.
func (e *election) lost(err error) error {
	end := new(End)
	if errors.Is(err, ErrServerGone) || errors.As(err, &end) && end.Kind == Moved {
		return &Restart{Reason: err.Error()}
	}
	return err
}

func (e *election) close(reason string) error {
	defer e.etcd.Close()
	if e.term == nil {
		return nil
	}
	return e.resign(reason)
}
